import { textOf, type Item, type ToolItem } from '../state/items'
import { toolView } from '../state/tool'
import { diffTexts } from '../text/diff'
import { actorName } from '../text/actor'
import { describe } from '../ui/feed/describe'

/** An item as text in elements: nothing in it is taken for markup. Null where there is nothing to show. */
export function cardOf(item: Item): HTMLElement | null {
  switch (item.kind) {
    case 'prompt':
      return card('prompt', actorName(item.actor), item.text)
    case 'text':
      return card(item.role, '', item.text)
    case 'content':
      return card(item.role, '', '(an image or a file)')
    case 'tool':
      return tool(item)
    case 'plan': {
      const steps = item.entries.map(
        (e) => `${e.status === 'completed' ? '☑' : '☐'} ${textOf(e.content).text}`,
      )
      return card('tool', t`Plan`, steps.join('\n'))
    }
    case 'permission': {
      const { ask, outcome } = item
      const chosen = ask?.options.find((o) => o.option_id === outcome?.option_id)?.name
      const answer = outcome ? [chosen ?? outcome.outcome, outcome.by && t`by ${actorName(outcome.by)}`] : []
      return card('permission', t`Asked: ${ask?.title ?? ''}`, answer.filter(Boolean).join(' '))
    }
    case 'terminal':
      return card('tool', t`Terminal`, item.output, true)
    case 'turn_end':
      return item.error ? card('trouble', '', textOf(item.error.message).text) : null
    case 'event': {
      const { tone, text, detail } = describe(item.event)
      return card(tone === 'quiet' ? 'quiet' : 'trouble', '', detail ? `${text}\n${detail}` : text)
    }
    case 'unknown':
      return null
  }
}

function tool(item: ToolItem): HTMLElement {
  const view = toolView(item)
  const parts = [view.command && `$ ${view.command}`, ...view.changes.map(changed), view.output]
  return card('tool', `${view.title} — ${view.status}`, parts.filter(Boolean).join('\n'), true)
}

function changed({ path, before, after }: { path: string; before: string; after: string }): string {
  const marks = { add: '+', remove: '-', same: ' ', hunk: '…' }
  return [path, ...diffTexts(before, after).lines.map((line) => marks[line.kind] + line.text)].join('\n')
}

function card(look: string, title: string, text: string, exact = false): HTMLElement {
  const article = document.createElement('article')
  article.className = look
  const add = (name: string, words: string) => {
    if (words === '') return
    const element = document.createElement(name)
    element.textContent = words
    if (name === 'pre') element.tabIndex = 0 // so that keys can scroll it
    article.append(element)
  }
  add('div', title)
  add(exact ? 'pre' : 'div', text)
  return article
}
