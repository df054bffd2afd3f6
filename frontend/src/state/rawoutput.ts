import { record } from './json'
import { textOrHead } from './large'

/** How deep the texts of a raw output lie. */
const deepest = 4

/** The members where agents put a tool's output; the first present one counts. */
export const sayings = ['output', 'formatted_output', 'stdout']

/**
 * The part of a raw output that `shown`, the text of the call's content, lacks: the output where nothing is shown,
 * and stdout, stderr and the error of a call that failed. Agents put them into members of an object or of a list,
 * or below another (ToolCallFields.Output in Go; session/event/testdata/raw_output.json).
 */
export function rawOutput(raw: unknown, failed: boolean, shown: string): string {
  const all = failed || !!exitIn(raw)
  if (shown !== '' && !all) return ''
  let parts: string[] = []
  for (const text of texts(raw, all, false, deepest)) {
    const said = text.trim()
    if (said === '' || [shown, ...parts].some((part) => part.includes(said))) continue
    parts = [...parts.filter((part) => !text.includes(part.trim())), text.replace(/\n+$/, '')]
  }
  return parts.join('\n')
}

/** The texts in the order in which they are shown; with `all` those of a failure, too. A text in a list is another thing. */
function texts(raw: unknown, all: boolean, listed: boolean, depth: number): string[] {
  if (depth === 0) return []
  if (Array.isArray(raw)) return raw.flatMap((one) => texts(one, all, true, depth - 1))
  const text = textOrHead(raw)
  if (text !== null) return listed ? [] : [text]
  const members = record(raw)
  const of = (name: string) => texts(members[name], all, false, depth - 1)
  const first = sayings.find((name) => members[name] !== undefined && members[name] !== null)
  return [first, ...(all ? ['stdout', 'stderr', 'error', 'message'] : [])].flatMap((name) =>
    name === undefined ? [] : of(name),
  )
}

/** The exit code in a raw output; null if there is none. */
export function exitIn(raw: unknown, depth = deepest): number | null {
  if (depth === 0) return null
  if (Array.isArray(raw)) {
    const codes = raw.map((one) => exitIn(one, depth - 1)).filter((code) => code !== null)
    return codes.find((code) => code !== 0) ?? codes[0] ?? null
  }
  const members = record(raw)
  for (const name of ['exit', 'exitCode', 'exit_code', 'code']) {
    const code = members[name]
    if (typeof code === 'number') return code
  }
  return members['metadata'] === undefined ? null : exitIn(members['metadata'], depth - 1)
}
