import type { Grown, ToolKind, ToolStatus } from '../wire/gen'
import { grownText } from './grown'
import type { ToolItem } from './items'
import { record } from './json'
import { largeIn, largeOf, textOrHead, type Large, type LargePart } from './large'
import { exitIn, rawOutput, sayings } from './rawoutput'

/** A change to one file, as the agent proposes or made it. */
export interface FileChange {
  path: string
  /** A side that was too large for its event is its beginning: nothing can be said by comparing it. */
  before: string
  after: string
  large?: { before: Large | null; after: Large | null }
  /** The lines of the file that its sides begin at; null where they are parts of it and that is not known. */
  first?: { before: number; after: number } | null
}

/** A tool call as a screen shows it, read from the agent's own JSON. */
export interface ToolView {
  title: string
  kind: ToolKind
  status: ToolStatus
  /** The command line, if the call runs one. */
  command: string | null
  /** Parts of the command that were too large for the event: of these it has only the beginning. */
  commandLarge: readonly Large[]
  directory: string | null
  paths: readonly string[]
  changes: readonly FileChange[]
  /** Its output: text content, else the raw output's text. */
  output: string
  terminals: readonly string[]
  images: readonly { mediaType: string; data: string }[]
  /** Files that are not shown in place, as the agent sent them. */
  files: readonly unknown[]
  exitCode: number | null
  input: unknown
  /** Further input or output that is too large to be shown. */
  large: readonly LargePart[]
  rawOutput: unknown
}

const views = new WeakMap<object, ToolView>()

/** Reads a tool call. The answer is kept for as long as the item is. */
export function toolView(item: ToolItem): ToolView {
  let view = views.get(item)
  if (!view) views.set(item, (view = readTool(item)))
  return view
}

type Fields = Pick<
  ToolItem,
  | 'title'
  | 'toolKind'
  | 'status'
  | 'content'
  | 'grown'
  | 'diffs'
  | 'locations'
  | 'rawInput'
  | 'rawOutput'
  | 'outputGrown'
>

/** Reads an agent's facts of a tool call. */
export function readTool(item: Fields): ToolView {
  const input = record(item.rawInput)
  const output = outputGrown(item.rawOutput, item.outputGrown)
  const result = record(output)
  const changes: FileChange[] = []
  const outputs: string[] = []
  const terminals: string[] = []
  const images: { mediaType: string; data: string }[] = []
  const files: unknown[] = []
  const shown = new Set<unknown>()
  for (const entry of contentGrown(item.content, item.grown).map(record)) {
    switch (entry['type']) {
      case 'diff':
        shown.add(entry['oldText']).add(entry['newText'])
        changes.push(changeOf(entry))
        break
      case 'terminal':
        terminals.push(text(entry['terminalId']) ?? '')
        break
      case 'content': {
        const block = record(entry['content'])
        shown.add(block)
        if (isFile(block)) files.push(block)
        else if (block['type'] === 'image') {
          images.push({ mediaType: text(block['mimeType']) ?? '', data: text(block['data']) ?? '' })
        } else {
          const held = block['text'] ?? record(block['resource'])['text']
          const said = textOrHead(held) ?? text(block['uri'])
          if (said) outputs.push(said)
          if (largeOf(held)) files.push(textFile(held))
        }
      }
    }
  }
  // A change that a call proposed and carried out stays its change, also after later updates.
  if (changes.length === 0 && item.status !== 'failed')
    changes.push(...list(item.diffs).map(record).map(changeOf))
  placed(changes, list(item.locations).map(record), input)
  const asked = input['command'] ?? input['cmd']
  const command = commandOf(asked)
  if (command !== null) for (const part of [asked, ...list(asked)]) shown.add(part)
  const large = [output, ...sayings.map((name) => result[name])].find((held) => largeOf(held))
  if (large !== undefined && outputs.length === 0) files.push(textFile(large))
  const said = outputs.join('\n')
  return {
    title: item.title || command || t`Tool call`,
    kind: item.toolKind ?? 'other',
    status: item.status ?? 'pending',
    command,
    commandLarge: command === null ? [] : [asked, ...list(asked)].flatMap((part) => largeOf(part) ?? []),
    directory: text(input['cwd']) ?? text(input['workdir']) ?? text(input['directory']),
    paths: [
      ...new Set(
        list(item.locations)
          .map((l) => text(record(l)['path']) ?? '')
          .filter(Boolean),
      ),
    ],
    changes,
    output: [unfence(said), rawOutput(output, item.status === 'failed', said)].filter(Boolean).join('\n'),
    terminals: [...new Set(terminals)],
    images,
    files,
    exitCode: exitIn(output),
    input: item.rawInput,
    large: largeIn({ content: item.content, input: item.rawInput }, shown),
    rawOutput: output,
  }
}

/** Whether a media type is of pictures that hold nothing but a picture. */
export function isPicture(type: string): boolean {
  return /^image\/(png|jpeg|gif|webp)$/.test(type)
}

/** Whether a block of content is a file that no page may show in place: all but text and plain pictures. */
export function isFile(block: Record<string, unknown>): boolean {
  if (block['type'] === 'image')
    return (
      !isPicture(text(block['mimeType']) ?? '') ||
      !/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(text(block['data']) ?? '')
    )
  return block['type'] === 'audio' || record(block['resource'])['blob'] !== undefined
}

function commandOf(value: unknown): string | null {
  if (!Array.isArray(value)) return textOrHead(value)
  const words = value.map(textOrHead)
  return words.includes(null) ? null : words.join(' ')
}

function changeOf(entry: Record<string, unknown>): FileChange {
  const { path, oldText, newText } = entry
  const large = { before: largeOf(oldText), after: largeOf(newText) }
  return {
    path: textOrHead(path) ?? '',
    before: textOrHead(oldText) ?? '',
    after: textOrHead(newText) ?? '',
    ...((large.before || large.after) && { large }),
  }
}

/**
 * Says where changes begin in their files: where the agent gives a line for each. Without it, a text
 * that the call's input quotes and one of several are parts of an unknown place; another is the whole file.
 */
function placed(
  changes: FileChange[],
  locations: readonly Record<string, unknown>[],
  input: Record<string, unknown>,
): void {
  const quoted = new Set([input, ...list(input['edits']).map(record)].flatMap((edit) => Object.values(edit)))
  for (const path of new Set(changes.map((c) => c.path))) {
    const parts = changes.filter((c) => c.path === path)
    const lines = locations.flatMap((l) =>
      l['path'] === path && typeof l['line'] === 'number' ? l['line'] : [],
    )
    /** By how many lines the parts before made the file longer. */
    let grown = 0
    for (const [i, part] of parts.entries()) {
      const after = lines[i]
      if (after !== undefined && lines.length === parts.length) {
        part.first = { before: after - grown, after }
        grown += rowsIn(part.after) - rowsIn(part.before)
      } else if (part.before !== '' && (parts.length > 1 || quoted.has(part.before))) part.first = null
    }
  }
}

const rowsIn = (text: string) => (text === '' ? 0 : text.replace(/\n$/, '').split('\n').length)

/** Such a text as the file it can be had as. */
function textFile(held: unknown): unknown {
  return { type: 'resource', resource: { uri: 'output.txt', mimeType: 'text/plain', blob: held } }
}

/** Some agents wrap a command's output in a code fence; the output is shown as output. */
function unfence(output: string): string {
  const match = /^```[\w-]*\n([\s\S]*?)\n?```\s*$/.exec(output)
  return match?.[1] ?? output
}

/** The entries of a content with what continues its last text; as an entry of its own where that is not there. */
function contentGrown(content: unknown, grown: Grown | undefined): readonly unknown[] {
  const entries = list(content)
  if (!grown) return entries
  const last = record(entries.at(-1))
  const block = record(last['content'])
  const said = text(block['text'])
  if (said === null) {
    return grown.added
      ? [...entries, { type: 'content', content: { type: 'text', text: grown.added } }]
      : entries
  }
  return [...entries.slice(0, -1), { ...last, content: { ...block, text: grownText(said, grown) } }]
}

function outputGrown(output: unknown, grown: Grown | undefined): unknown {
  if (!grown || largeOf(output)) return output
  if (!grown.member) return grownText(text(output) ?? '', grown)
  const result = record(output)
  return { ...result, [grown.member]: grownText(text(result[grown.member]) ?? '', grown) }
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
