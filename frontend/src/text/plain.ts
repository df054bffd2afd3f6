/** Marks without text of their own: in each, the dropped parts are the capture groups. */
const marks: readonly RegExp[] = [
  // Headings; one "#" in mid-line is a number sign.
  /(?:^|\n)[ \t]*(#{1,6}[ \t]+)/dg,
  /(?<=\s)(#{2,6}\s+)/dg,
  // Quotes and points of lists.
  /(?:^|\n)[ \t]*((?:>[ \t]?)+|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?)/dg,
  // The line under a table's head, and the bars around its rows.
  /(\|?(?:\s*(?::-+:?|-+:|-{2,})\s*\|)+)/dg,
  /(?:^|\n)[ \t]*(\|[ \t]*)/dg,
  /([ \t]*\|)[ \t]*(?:\n|$)/dg,
  // Fences with their language, and code in a line.
  /(`{3,}\w*)/dg,
  /(?<!`)(`{1,2})(?=[^`])[^`\n]*?(`{1,2})(?!`)/dg,
  /(\*\*)(?=\S).*?(?<=\S)(\*\*)/dg,
  /(?<![\w*])(\*)(?=[^\s*])[^*\n]*?[^\s*](\*)(?![\w*])/dg,
  /(~~)(?=\S).*?(?<=\S)(~~)/dg,
  /(!?\[)[^\]\n]+(\]\([^)\s]*\))/dg,
  /(<)(?:https?:\/\/|mailto:)[^\s<>]+(>)/dg,
  // A mark that a cut line no longer closes.
  /(?<!\S)(\*\*|`)(?=[^\s*`])[^*`\n]*…$/dg,
  /(!?\[)[^\]\n]+(\]\([^)\s]*)…$/dg,
]

/** The stretches of a text that are nothing but markup, in order and apart. */
export function markup(text: string): [number, number][] {
  const found: [number, number][] = []
  for (const mark of marks) {
    for (const match of text.matchAll(mark)) {
      for (const part of match.indices!.slice(1)) if (part) found.push([part[0], part[1]])
    }
  }
  found.sort((a, b) => a[0] - b[0])
  const apart: [number, number][] = []
  for (const [from, to] of found) {
    const last = apart.at(-1)
    if (last && from <= last[1]) last[1] = Math.max(last[1], to)
    else apart.push([from, to])
  }
  return apart
}

/** Markdown as one reads it aloud: for places that show a line of it and cannot render it. */
export function plain(text: string): string {
  let said = ''
  let at = 0
  for (const [from, to] of markup(text)) {
    said += text.slice(at, from)
    at = to
  }
  return (said + text.slice(at)).trim()
}
