import { plain } from './plain'

/** Markdown as a screen reader reads it: the cells of a table are a list, and no bar is read out. */
export function spoken(text: string): string {
  return plain(
    text.replace(/^[ \t]*\|.*$/gm, (row) => {
      const cells = row.split('|').flatMap((cell) => cell.trim() || [])
      return cells.every((cell) => /^:?-+:?$/.test(cell)) ? '' : `${cells.join(', ')}.`
    }),
  )
}
