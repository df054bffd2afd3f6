/** The words and the phrases in double quotes of a search, as the hub compares them. */
export function partsOf(text: string): string[] {
  return [...text.matchAll(/"([^"]*[^"\s][^"]*)"|\S+/g)]
    .map(([whole, phrase]) => fold(phrase ?? whole).text)
    .filter((part) => part !== '')
}

/** Where any of the parts occurs in a text, in order and apart from each other. */
export function placesIn(text: string, parts: readonly string[]): [number, number][] {
  const { text: folded, begins, ends } = fold(text)
  const places: [number, number][] = []
  for (const part of parts) {
    for (let at = folded.indexOf(part); at >= 0; at = folded.indexOf(part, at + part.length)) {
      places.push([begins[at]!, ends[at + part.length - 1]!])
    }
  }
  places.sort((a, b) => a[0] - b[0] || b[1] - a[1])
  return places.filter(([from], i) => places.slice(0, i).every(([, to]) => to <= from))
}

/** A text without case, marks of Markdown and forms of Unicode; and where each unit of it stands in the original. */
function fold(text: string): { text: string; begins: number[]; ends: number[] } {
  const folded = { text: '', begins: [] as number[], ends: [] as number[] }
  for (const { 0: letter, index } of text.matchAll(/[^*`]\p{M}*/gsu)) {
    const said = letter.normalize('NFC').toLowerCase()
    folded.text += said
    for (let i = 0; i < said.length; i++) {
      folded.begins.push(index)
      folded.ends.push(index + letter.length)
    }
  }
  return folded
}
