import { causeWords } from './cause'
import type { Seq } from '../wire/gen'
import type { Feed } from './feed'
import type { TurnEndItem } from './items'

/** As much of an answer as is read out unasked; the feed has the rest. */
const mostSpoken = 600

/**
 * The announcement of the events after `since` for a screen reader: the newest turn that ended, as
 * a whole, and how many ended with it; null when none did; `plain` makes words of markdown. A
 * running turn's text is not announced: it would be read in pieces.
 */
export function turnSpoken(feed: Feed, since: Seq, plain: (markdown: string) => string): string | null {
  const ends: TurnEndItem[] = []
  for (let i = feed.items.length - 1; i >= 0; i--) {
    const item = feed.items.get(i)
    if (item.seq <= since) break
    if (item.kind === 'turn_end') ends.push(item)
  }
  const newest = ends[0]
  if (!newest) return null
  const others = ends.length > 1 ? t`${ends.length} turns ended. The last: ` : ''
  const answer = answerOf(feed, newest, plain)
  return `${others}${ending(newest, feed)}${answer === '' ? '' : ` ${answer}`}`
}

function ending(end: TurnEndItem, feed: Feed): string {
  const cut = feed.latest.cut?.get(end.promptId)
  if (end.error) return t`Turn failed: ${end.error.message}.`
  if (cut) return causeWords(cut)
  if (end.stopReason === 'end_turn') return t`Turn ended.`
  if (end.stopReason === 'interrupted') return t`Turn force-stopped.`
  return t`Turn ended: ${end.stopReason.replaceAll('_', ' ')}.`
}

function answerOf(feed: Feed, end: TurnEndItem, plain: (markdown: string) => string): string {
  const parts: string[] = []
  for (let i = feed.items.length - 1; i >= 0; i--) {
    const item = feed.items.get(i)
    if (item.kind === 'prompt' && item.turn === end.turn) break
    if (item.kind === 'text' && item.role === 'message' && item.turn === end.turn) parts.unshift(item.text)
  }
  const text = plain(parts.join('\n\n').slice(0, 4 * mostSpoken))
    .replace(/\s+/g, ' ')
    .trim()
  return text.length > mostSpoken ? `${text.slice(0, mostSpoken)}…` : text
}
