import type { ToolKind } from '../wire/gen'
import type { PermissionAsk, ToolItem } from './items'
import { record } from './json'
import { largeOf, textOrHead } from './large'
import { readTool, text, type ToolView } from './tool'

/**
 * Reads the subject of a permission request: the agent's own tool call, over the known facts of
 * that call.
 */
export function askView(ask: PermissionAsk, known: ToolItem | undefined): ToolView {
  const call = record(ask.toolCall)
  const content = call['content']
  const says = Array.isArray(content) ? content.length > 0 : largeOf(content) !== null
  const view = readTool({
    title: textOrHead(call['title']) || known?.title || ask.title,
    toolKind: (text(call['kind']) as ToolKind | null) ?? known?.toolKind,
    status: 'pending',
    content: says ? content : known?.content,
    grown: says ? undefined : known?.grown,
    locations: (Array.isArray(call['locations'])
      ? call['locations']
      : known?.locations) as ToolItem['locations'],
    rawInput: call['rawInput'] ?? known?.rawInput,
    rawOutput: undefined,
  })
  const whole = largeOf(ask.toolCall)
  return whole ? { ...view, large: [{ at: '', large: whole }, ...view.large] } : view
}

/** Whether a title only says the command once more, as some agents quote or cut it. */
export function saysCommand(tool: ToolView): boolean {
  const words = (text: string) =>
    text
      .trim()
      .replace(/^`+|`+$/g, '')
      .replace(/\s+/g, ' ')
      .trim()
  const title = words(tool.title)
  const command = words(tool.command ?? '')
  if (title === '' || command === '') return false
  return (
    title === command ||
    (/(…|\.\.\.)$/.test(title) && command.startsWith(title.replace(/(…|\.\.\.)$/, '').trim()))
  )
}

/**
 * Whether a request names its exact action, so that an answer to it can be a rule: the hub applies
 * the same rule, and decides.
 */
export function identified(tool: ToolView): boolean {
  const input = tool.input ?? ''
  const said = typeof input === 'object' ? Object.keys(input).length > 0 : input !== ''
  const aboutPaths = tool.paths.length > 0 && (tool.kind === 'read' || tool.kind === 'delete')
  return said || tool.changes.length > 0 || aboutPaths
}

/** Whether a title only names the one file that the request is about, with or without its verb. */
export function saysFile(tool: ToolView, shown: (path: string) => string): boolean {
  if (tool.kind !== 'edit' && tool.kind !== 'read' && tool.kind !== 'delete') return false
  const files = [...new Set([...tool.changes.map((c) => c.path), ...tool.paths])]
  if (files.length !== 1) return false
  const named = tool.title
    .trim()
    .replace(/^(edit|write|create|update|change|read|view|delete|remove)(ing)?\b:?/i, '')
    .replace(/[`?]/g, '')
    .trim()
  return named !== '' && (named === files[0] || named === shown(files[0]!))
}

/** A text in two lines of a phone: its white space as one space, its first whole words and its end. */
export function gistOf(text: string): string {
  const words = text.trim().replace(/\s+/g, ' ')
  return words.length <= 60 ? words : `${words.slice(0, 36).replace(/ \S*$/, '')} … ${words.slice(-20)}`
}

/** What is asked about a call, in a line. A command or file that is shown below it is not said twice. */
export function questionOf(tool: ToolView, shown: (path: string) => string): string {
  if (saysCommand(tool)) return t`Run this command?`
  if (saysFile(tool, shown))
    return tool.kind === 'edit'
      ? t`Edit this file?`
      : tool.kind === 'read'
        ? t`Read this file?`
        : t`Delete this file?`
  return /[?!.…:]$/.test(tool.title) ? tool.title : `${tool.title}?`
}
