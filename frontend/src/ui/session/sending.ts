import type { OutboxFile } from '../../state/outboxitem'
import { bytes } from '../../text/time'
import type { Agent } from '../../wire/gen'

/** The hub embeds no larger file in a prompt: it links it by its path. */
export const embedMax = 16 * 1024 * 1024

const pictures = [/^\x89PNG\r\n\x1a\n/, /^\xff\xd8\xff/, /^GIF8[79]a/, /^RIFF[^]{4}WEBPVP/]

/** Whether it is a PNG, JPEG, GIF or WebP by its first bytes: only these go to an agent as images. */
export async function isPicture(blob: Blob): Promise<boolean> {
  const head = new Uint8Array(await blob.slice(0, 14).arrayBuffer())
  const text = String.fromCharCode(...head)
  return pictures.some((begins) => begins.test(text))
}

/**
 * Says how the agent gets a file. An agent that did not start yet is taken for one that takes images.
 */
export function sentAs({ name, blob }: OutboxFile, picture: boolean, agent: Agent | undefined): string {
  const takes = agent?.prompt_capabilities
  const whole = blob.size <= embedMax
  if (picture && whole && takes?.image !== false) return t`as an image`
  if (picture && whole) return t`as a file: ${agent?.name || t`the agent`} takes no images`
  if (picture) return t`as a file: larger than ${bytes(embedMax)}`
  if (blob.type.startsWith('audio/') && whole && takes?.audio) return t`as audio`
  const named =
    blob.type.startsWith('image/') || /\.(png|jpe?g|gif|webp|hei[cf]|avif|svg|bmp|tiff?)$/i.test(name)
  return named ? t`as a file: not a PNG, JPEG, GIF or WebP` : t`as a file`
}
