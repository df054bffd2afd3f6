import type { Hit } from '../wire/gen'

/** Hits of one session that follow each other. */
export interface HitGroup {
  session: string
  name: string
  hits: Hit[]
}

/** Hits under their sessions, in the order they were found. */
export function bySession(hits: readonly Hit[]): HitGroup[] {
  const groups: HitGroup[] = []
  for (const hit of hits) {
    const last = groups.at(-1)
    if (last?.session === hit.session_id) last.hits.push(hit)
    else groups.push({ session: hit.session_id, name: hit.name, hits: [hit] })
  }
  return groups
}

/**
 * Cuts a snippet at its matches and leaves out the text between them; ranges that do not fit it
 * mark nothing.
 */
export function pieces(
  { snippet, ranges = [] }: Hit,
  dropped: readonly (readonly [number, number])[] = [],
): { text: string; match: boolean }[] {
  const cut: { text: string; match: boolean }[] = []
  let at = 0
  const plain = (to: number) => {
    let text = ''
    for (const [from, end] of dropped) {
      if (end <= at || from >= to) continue
      text += snippet.slice(at, Math.max(at, from))
      at = Math.min(to, end)
    }
    text += snippet.slice(at, to)
    if (text !== '') cut.push({ text, match: false })
    at = to
  }
  for (const [from, to] of ranges) {
    if (from < at || to <= from || to > snippet.length) continue
    plain(from)
    cut.push({ text: snippet.slice(from, to), match: true })
    at = to
  }
  plain(snippet.length)
  return cut
}
