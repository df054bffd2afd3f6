/**
 * Keeps the entries that match all the words, best first: at the start, at a word, inside, or as
 * scattered letters. `also` has further words for an entry.
 */
export function rank<T extends { name: string; hint?: string; also?: string }>(
  words: string,
  items: readonly T[],
): T[] {
  const asked = words.toLowerCase().split(/\s+/).filter(Boolean)
  if (asked.length === 0) return [...items]
  return items
    .map((item, at) => {
      const scores = asked.map((word) =>
        Math.max(
          score(word, item.name),
          score(word, item.hint ?? '') - 1,
          begins(word, item.also ?? '') ? 3 : 0,
        ),
      )
      return { item, at, score: Math.min(...scores) < 1 ? 0 : scores.reduce((a, b) => a + b, 0) }
    })
    .filter((r) => r.score > 0)
    .sort((a, b) => b.score - a.score || a.at - b.at)
    .map((r) => r.item)
}

/** Whether a word of the text begins so: a synonym is not guessed from scattered letters. */
function begins(word: string, text: string): boolean {
  return text
    .toLowerCase()
    .split(' ')
    .some((of) => of.startsWith(word))
}

function score(word: string, text: string): number {
  const lower = text.toLowerCase()
  const at = lower.indexOf(word)
  if (at === 0) return 6
  if (at > 0) return /[\s/_.:-]/.test(lower[at - 1]!) ? 5 : 3
  let from = 0
  for (const letter of word) {
    const found = lower.indexOf(letter, from)
    if (found < 0) return 0
    from = found + 1
  }
  return word.length >= 3 ? 1 : 0
}
