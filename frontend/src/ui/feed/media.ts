import { record } from '../../state/json'
import { isPicture } from '../../state/tool'
import type { Blob } from '../../wire/gen'

/** A file an agent sent that is not shown in place. */
export interface Media {
  name: string
  type: string
  /** Unknown when the data is damaged. */
  bytes: number | null
  /** Its bytes, where they came with the event. */
  data: Uint8Array<ArrayBuffer> | null
  /** Its blob, where it was too large for that. */
  sha256: string | null
  why: string
}

/** The file in a block of content; null when there is none. */
export function mediaOf(content: unknown): Media | null {
  const block = record(content)
  const from = block['type'] === 'resource' ? record(block['resource']) : block
  const held = from['data'] ?? from['blob']
  if (held === undefined && block['type'] !== 'image' && block['type'] !== 'audio') return null
  const type = text(from['mimeType']) || t`of an unknown type`
  const uri = text(from['uri'])
  const kind = /^[a-z]+/.exec(type)?.[0] ?? t`file`
  const name = text(block['name']) || uri.split(/[/\\]/).at(-1) || `${kind}${ending(type)}`
  const blob = (record(held)['blob'] ?? null) as Blob | null
  const data = typeof held === 'string' ? decode(held) : null
  return {
    name: name.replace(/[\\/]/g, '_'),
    type,
    bytes: blob?.bytes ?? data?.length ?? null,
    data,
    sha256: blob?.sha256 ?? null,
    why:
      blob || data
        ? reason(type, blob !== null, block['type'] === 'image')
        : t`Damaged: the content is not a file.`,
  }
}

function reason(type: string, large: boolean, picture: boolean): string {
  if (type.startsWith('image/svg')) return t`Not shown: a picture of this kind can hold scripts.`
  if (type.startsWith('audio/') || type.startsWith('video/')) return t`Not played here.`
  if (large && type === 'text/plain') return t`Too large to show in full; above is the beginning.`
  if (large && isPicture(type)) return t`Too large to show here.`
  // Else it would have been: only content that a browser cannot show comes here.
  if (picture && isPicture(type)) return t`Damaged: the content is not a picture.`
  return t`Not shown: it may be more than text or a plain picture.`
}

function ending(type: string): string {
  const of = /^[a-z]+\/(?:x-)?([a-z0-9]+)/.exec(type)?.[1]
  return of ? `.${of}` : ''
}

function decode(base64: string): Uint8Array<ArrayBuffer> | null {
  if (base64 === '') return null
  try {
    return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))
  } catch {
    return null
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
