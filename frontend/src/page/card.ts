import { Renderer } from '../markdown/render'
import { textOf, type Item, type PermissionItem, type TextItem, type ToolItem } from '../state/items'
import { toolView, type FileChange } from '../state/tool'
import { actorName } from '../text/actor'
import { diffTexts, type DiffLine } from '../text/diff'
import { clock, duration } from '../text/time'
import { changedWords } from '../text/words'
import { describe } from '../ui/feed/describe'
import { partsOf } from '../ui/feed/diffparts'
import { endedHow } from '../ui/feed/ended'

/** A row of the page. */
export interface Card {
  item: Item
  node: HTMLElement | null
  /** Shows the message's text; a text that grows is rendered on where it ended. */
  prose?: Renderer
}

/** An item as a row. Text is text in elements; Markdown is rendered as the app does. */
export function cardOf(item: Item, old?: Card): Card {
  if (item.kind !== 'text') return { item, node: rowOf(item) }
  if (old?.prose) {
    old.prose.update(item.text, false)
    return { ...old, item }
  }
  return message(item)
}

function message(item: TextItem): Card {
  const body = element('div', 'prose')
  const prose = new Renderer(body, undefined, true, 3)
  prose.update(item.text, false)
  if (item.role === 'message') return { item, node: element('article', 'message', body), prose }
  const node = element('details', 'thought', element('summary', '', t`Thought`), body)
  return { item, node, prose }
}

function rowOf(item: Item): HTMLElement | null {
  switch (item.kind) {
    case 'text':
      return null
    case 'prompt': {
      const head = [item.turn > 0 ? t`Turn ${item.turn}` : '', actorName(item.actor), clock(item.time)]
      const title = element('h2', 'faint', head.filter(Boolean).join(' · '))
      const files = item.attachments.map((file) => element('p', 'faint', file.name))
      return element('article', 'prompt', title, element('p', 'wraps', item.text), ...files)
    }
    case 'content':
      return element('p', 'faint', t`(an image or a file)`)
    case 'tool':
      return tool(item)
    case 'plan': {
      const steps = item.entries.map((e) => {
        const mark = e.status === 'completed' ? '☑ ' : '☐ '
        return element('li', e.status === 'completed' ? 'faint' : '', mark + textOf(e.content).text)
      })
      return element('article', 'box', element('strong', '', t`Plan`), element('ul', '', ...steps))
    }
    case 'permission':
      return permission(item)
    case 'terminal':
      return element('article', 'box', element('strong', '', t`Terminal`), exact(item.output))
    case 'turn_end': {
      const how = endedHow(item, item.by && actorName(item.by))
      const fine = item.stopReason === 'end_turn' || item.stopReason === 'cancelled'
      const line = element('p', fine ? 'ended faint' : 'ended bad', how)
      return item.error
        ? element('div', '', line, element('p', 'bad', textOf(item.error.message).text))
        : line
    }
    case 'event': {
      const { tone, text, detail } = describe(item.event)
      return element('p', tone === 'quiet' ? 'faint' : 'bad', detail ? `${text}\n${detail}` : text)
    }
    case 'unknown':
      return null
  }
}

function permission({ ask, outcome }: PermissionItem): HTMLElement {
  const chosen = ask?.options.find((o) => o.option_id === outcome?.option_id)?.name
  const answer = outcome ? [chosen ?? outcome.outcome, outcome.by && t`by ${actorName(outcome.by)}`] : []
  const title = element('span', '', t`Asked: ${ask?.title ?? ''}`)
  return element('p', 'asked', title, element('span', 'faint', answer.filter(Boolean).join(' ')))
}

function tool(item: ToolItem): HTMLElement {
  const view = toolView(item)
  const changes = view.changes.map((change) => ({ change, diff: diffTexts(change.before, change.after) }))
  const sum = (side: 'added' | 'removed') => changes.reduce((n, { diff }) => n + diff[side], 0)
  const took = Date.parse(item.until) - Date.parse(item.time)
  const side = [
    ...(sum('added') > 0 ? [element('span', 'added', `+${sum('added')}`)] : []),
    ...(sum('removed') > 0 ? [element('span', 'removed', `−${sum('removed')}`)] : []),
    view.exitCode !== null && view.exitCode !== 0 ? t`exit ${view.exitCode}` : '',
    view.status === 'failed' ? element('span', 'bad', t`failed`) : took >= 1000 ? duration(took) : '',
  ]
  const name = element(view.command === null ? 'strong' : 'code', 'name', view.command ?? view.title)
  const head = element('p', 'call', name, element('span', 'side faint', ...side))
  const diffs = changes.flatMap(({ change, diff }) => [
    element('p', 'path faint', change.path),
    lined(change, diff.lines),
  ])
  const node = element('article', 'tool', head, ...diffs)
  if (view.output !== '') node.append(exact(view.output))
  if (diffs.length > 0 || view.output !== '') node.classList.add('box')
  return node
}

/** A change, as the app shows it: the file's numbers where they are known, changed words marked. */
function lined({ first = { before: 1, after: 1 } }: FileChange, lines: readonly DiffLine[]): HTMLElement {
  const marks = changedWords(lines)
  const signs = { add: '+', remove: '−', same: ' ', hunk: '⋯' }
  const rows = lines.map((line) => {
    const at = line.new
      ? first && line.new - 1 + first.after
      : line.old && first && line.old - 1 + first.before
    const parts = partsOf(line.text, [], marks.get(line) ?? [])
    const code = parts.map((part) => (part.changed ? element('mark', '', part.text) : part.text))
    return element(
      'div',
      `l ${line.kind}`,
      ...(first ? [element('span', 'n', at ? String(at) : '')] : []),
      element('span', 's', signs[line.kind]),
      element('code', '', ...code),
    )
  })
  const box = element('div', 'diff', element('div', 'lines', ...rows))
  box.tabIndex = 0 // so that keys can scroll it
  box.setAttribute('role', 'group')
  box.setAttribute('aria-label', t`Change`)
  return box
}

function exact(text: string): HTMLElement {
  const node = element('pre', '', text)
  node.tabIndex = 0
  return node
}

/** Makes an element of strings, which are text, and of elements. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  look: string,
  ...inner: (string | Node)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name)
  if (look !== '') made.className = look
  made.append(...inner.filter((part) => part !== ''))
  return made
}
