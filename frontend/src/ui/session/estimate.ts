import type { Row } from '../../state/rows'

/** A row's height in px before it was ever shown: near enough that the scroll bar does not lie. */
export function estimate(row: Row): number {
  if (row.kind === 'group') return 42
  const { item } = row
  switch (item.kind) {
    case 'prompt':
      return 74 + 23 * Math.min(14, lines(item.text))
    case 'text':
      return item.role === 'thought' ? 38 : 10 + 24 * lines(item.text)
    case 'tool':
      return row.calls ? 76 : 44
    case 'plan':
      return 56 + 25 * item.entries.length
    default:
      return 36
  }
}

function lines(text: string): number {
  return Math.max(1, Math.ceil(text.length / 70))
}
