// Its own file: the package's front brings JSON, patches and sentences along.
import { diffWordsWithSpace } from 'diff/lib/diff/word.js'
import type { DiffLine } from './diff'
import { pairsOf } from './pairs'

/** A part of a line, from and to in UTF-16 units. */
export type Mark = readonly [from: number, to: number]

/** Lines longer than this are not compared by word, and of one change not more pairs than that. */
const longest = 400
const mostPairs = 400
/** Two lines less similar than this are not compared by word. */
const alike = 0.4

/**
 * Says which words of each line changed: each removed line is compared with the added one in its place. Lines
 * without a partner, or with one that is hardly like them, have no marks.
 */
export function changedWords(lines: readonly DiffLine[]): Map<DiffLine, Mark[]> {
  const marks = new Map<DiffLine, Mark[]>()
  let pairs = 0
  for (const [before, after] of pairsOf(lines)) {
    if (!before || !after || before.text.length > longest || after.text.length > longest) continue
    if (++pairs > mostPairs) break
    const [old, now]: [Mark[], Mark[]] = [[], []]
    let [o, n, same] = [0, 0, 0]
    for (const part of diffWordsWithSpace(before.text, after.text)) {
      const { length } = part.value
      if (part.removed) old.push([o, (o += length)])
      else if (part.added) now.push([n, (n += length)])
      else {
        o += length
        n += length
        same += part.value.trim().length
      }
    }
    if (same < alike * Math.min(before.text.trim().length, after.text.trim().length)) continue
    marks.set(before, old)
    marks.set(after, now)
  }
  return marks
}
