import type { Feed } from '../../state/feed'

/** Steps through the prompts of a session as a shell does through its commands: up to older ones, down to newer. */
export class Recall {
  private at = -1
  private shown = ''

  /** Returns the composer's text after a step; null where the step is not one through prompts. */
  step(by: 'up' | 'down', text: string, feed: Feed): string | null {
    if (text === '') this.at = -1
    else if (text !== this.shown) return null
    if (by === 'down' && this.at < 0) return null
    const to = this.at + (by === 'up' ? 1 : -1)
    const recalled = to < 0 ? '' : promptFromEnd(feed, to)
    if (recalled === null) return null
    this.at = to
    return (this.shown = recalled)
  }
}

/** Returns the text of the n-th loaded prompt from the end, equal neighbours counted once. */
function promptFromEnd(feed: Feed, n: number): string | null {
  let newer: string | undefined
  for (let i = feed.items.length - 1; i >= 0; i--) {
    const item = feed.items.get(i)
    if (item.kind !== 'prompt' || item.text.trim() === '' || item.text === newer) continue
    newer = item.text
    if (n-- === 0) return item.text
  }
  return null
}
