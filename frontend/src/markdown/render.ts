import createDOMPurify, { type Config } from 'dompurify'
import { Blocks } from './blocks'
import { elsewhere } from './links'
import { parse } from './parser'

const purify = createDOMPurify(window)

const config = {
  ALLOWED_TAGS: [
    ...['p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'ul', 'ol', 'li', 'input'],
    ...['pre', 'code', 'span', 'em', 'strong', 'del', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
  ],
  ALLOWED_ATTR: ['href', 'class', 'start', 'align', 'type', 'checked', 'disabled'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  // Else the rule for addresses is put to these, too, and a list forgets its first number.
  ADD_URI_SAFE_ATTR: ['start', 'align', 'type', 'checked', 'disabled'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
} satisfies Config

purify.addHook('afterSanitizeAttributes', (node) => {
  const name = node.nodeName
  if (name === 'A') {
    node.setAttribute('rel', 'noopener noreferrer nofollow')
    node.setAttribute('target', '_blank')
    const href = node.getAttribute('href')
    // Whoever points at a link sees the whole of where it goes.
    if (href && href !== node.textContent) node.setAttribute('title', href)
  }
  if (name === 'INPUT') {
    node.setAttribute('type', 'checkbox')
    node.setAttribute('disabled', '')
    node.setAttribute('aria-label', node.hasAttribute('checked') ? 'Done' : 'To do')
  }
  // What is too wide scrolls, and so must be within reach of the keyboard.
  if (name === 'PRE') node.setAttribute('tabindex', '0')
  const classes = node.getAttribute('class')
  if (classes !== null) {
    const kept = classes
      .split(/\s+/)
      .filter((c) => /^(language-[\w+#-]+|hljs(-[\w-]+)?|function_|class_|inherited__)$/.test(c))
    if (kept.length > 0) node.setAttribute('class', kept.join(' '))
    else node.removeAttribute('class')
  }
})

/** Returns a fragment that is safe to put into the page, whatever the HTML was. */
export function sanitise(html: string): DocumentFragment {
  const fragment = purify.sanitize(html, config) as unknown as DocumentFragment
  for (const link of fragment.querySelectorAll('a')) nameHost(link)
  for (const table of fragment.querySelectorAll('table')) box(table)
  return fragment
}

/** Says where a link goes that looks as if it went elsewhere. */
function nameHost(link: HTMLAnchorElement): void {
  const place = elsewhere(link.textContent ?? '', link.getAttribute('href') ?? '')
  if (place === null) return
  const note = document.createElement('span')
  note.className = 'host'
  note.textContent = ` (${place})`
  link.append(note)
}

/** How many cells of a table are in the page before the rest is asked for. */
const cellsMax = 600

/** What is too wide for the column scrolls in a box of its own, within reach of the keyboard. */
function box(table: HTMLTableElement): void {
  const region = document.createElement('div')
  region.className = 'table'
  region.tabIndex = 0
  region.setAttribute('role', 'region')
  const heads = [...table.querySelectorAll('th')].map((th) => th.textContent?.trim()).filter(Boolean)
  region.setAttribute('aria-label', `Table: ${heads.join(', ')}`.slice(0, 120))
  for (const code of table.querySelectorAll('code')) {
    // A name too long for a column breaks; short ones are no narrower for it.
    if ((code.textContent ?? '').length > 24) code.className = 'long'
  }
  table.replaceWith(region)
  region.append(table)
  const rows = [...table.querySelectorAll('tbody > tr')]
  const most = Math.max(10, Math.ceil(cellsMax / Math.max(1, table.rows[0]?.cells.length ?? 1)))
  // Some rows more cost less than a press of a button.
  if (rows.length <= most * 1.5) return
  const rest = document.createElement('template')
  rest.content.append(...rows.slice(most))
  rows[0]!.parentElement!.append(rest)
  const button = document.createElement('button')
  button.className = 'rest'
  button.textContent = `Show all ${rows.length} rows`
  region.after(button)
}

/** Puts the rows into the page that were kept out of the table before the button. */
function showRest(button: HTMLElement): void {
  const region = button.previousElementSibling as HTMLElement
  const rest = region.querySelector('template')
  rest?.replaceWith(rest.content)
  button.remove()
}

const remembered = new Map<string, DocumentFragment>()
const rememberedMax = 600

/** Renders one settled block; scrolling back to it does not parse it again. */
function rendered(block: string): DocumentFragment {
  let fragment = remembered.get(block)
  if (fragment)
    remembered.delete(block) // so that it is the newest again
  else fragment = sanitise(parse(block))
  remembered.set(block, fragment)
  if (remembered.size > rememberedMax) remembered.delete(remembered.keys().next().value!)
  return fragment.cloneNode(true) as DocumentFragment
}

const openFence = /^ {0,3}(`{3,}|~{3,})([^\n`]*)\n([\s\S]*)$/

/** Shows one message in an element: settled blocks once, the tail as it grows. */
export class Renderer {
  private readonly blocks = new Blocks()
  private shown = 0
  private tailNodes: ChildNode[] = []
  private fence: { code: Text; head: string } | null = null
  private costMs = 0
  private endedAt = 0
  /** The tables shown whole, by their place among all of the message's: a table that grows stays as it was left. */
  private readonly opened = new Set<number>()
  private later: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly element: HTMLElement,
    /** Called with each code block once its text is final. */
    private readonly onCode: (code: HTMLElement) => void = () => {},
    /** Nothing is kept out of the page, however large it is. */
    private readonly whole = false,
  ) {
    // What is remembered is shown as a copy, which has no listeners of its own.
    element.addEventListener('click', (event) => {
      const button = (event.target as Element).closest<HTMLElement>('button.rest')
      if (!button) return
      const region = button.previousElementSibling as HTMLElement
      this.opened.add(this.tables().indexOf(region))
      showRest(button)
      region.focus({ preventScroll: true })
    })
  }

  /**
   * Shows the text so far. A tail that takes long to render is rendered less
   * often, so that a long paragraph does not cost every frame.
   */
  update(text: string, growing: boolean): void {
    clearTimeout(this.later)
    const rest = this.endedAt + Math.min(500, this.costMs * 4) - performance.now()
    if (growing && this.costMs > 4 && rest > 0) {
      this.later = setTimeout(() => this.update(text, growing), rest)
      return
    }
    const began = performance.now()
    this.show(text, growing)
    this.endedAt = performance.now()
    this.costMs = this.endedAt - began
  }

  /** Ends what is still to be shown. */
  stop(): void {
    clearTimeout(this.later)
  }

  private show(text: string, growing: boolean): void {
    const focused = this.tables().indexOf(document.activeElement!)
    this.take(text, growing)
    const table = this.tables()[focused] as HTMLElement | undefined
    if (table !== document.activeElement) table?.focus({ preventScroll: true })
  }

  private tables(): Element[] {
    return [...this.element.querySelectorAll('.table')]
  }

  private take(text: string, growing: boolean): void {
    const continues = this.blocks.update(text.replaceAll('\r\n', '\n'))
    if (!this.blocks.grew) this.opened.clear()
    if (!continues) {
      this.element.replaceChildren()
      this.shown = 0
      this.tailNodes = []
      this.fence = null
    }
    const { settled, tail } = this.blocks
    if (settled.length > this.shown || !this.extendFence(tail)) {
      for (const node of this.tailNodes) node.remove()
      this.fence = null
      for (; this.shown < settled.length; this.shown++) this.append(rendered(settled[this.shown]!), true)
      if (!growing || !this.beginFence(tail)) {
        // A tail that grows is never seen again as it is: it is not worth remembering.
        this.tailNodes = this.append(growing ? sanitise(parse(tail)) : rendered(tail), !growing)
      }
    }
    if (!growing && this.fence) {
      for (const node of this.tailNodes) node.remove()
      this.fence = null
      this.tailNodes = this.append(rendered(tail), true)
    }
  }

  private append(fragment: DocumentFragment, final: boolean): ChildNode[] {
    const nodes = [...fragment.childNodes]
    const code = final ? [...fragment.querySelectorAll<HTMLElement>('pre > code')] : []
    this.element.append(fragment)
    this.tables().forEach((table, at) => {
      const rest = table.nextElementSibling
      if ((this.whole || this.opened.has(at)) && rest?.matches('button.rest')) showRest(rest as HTMLElement)
    })
    for (const block of code) this.onCode(block)
    return nodes
  }

  /** An open fence only grows by text: no parsing, however long the code becomes. */
  private beginFence(tail: string): boolean {
    const match = openFence.exec(tail)
    if (!match || closes(match[1]!, match[3]!)) return false
    const pre = document.createElement('pre')
    pre.tabIndex = 0
    const code = document.createElement('code')
    const text = document.createTextNode(match[3]!)
    code.append(text)
    pre.append(code)
    this.element.append(pre)
    this.fence = { code: text, head: tail.slice(0, tail.length - match[3]!.length) }
    this.tailNodes = [pre]
    return true
  }

  private extendFence(tail: string): boolean {
    if (!this.fence || !tail.startsWith(this.fence.head)) return false
    const body = tail.slice(this.fence.head.length)
    const added = body.slice(this.fence.code.length)
    const marker = this.fence.head.trim().match(/^(`+|~+)/)?.[0] ?? '```'
    // Look again from the start of the line that the addition began in.
    if (closes(marker, body.slice(body.lastIndexOf('\n', this.fence.code.length - 1) + 1))) return false
    this.fence.code.appendData(added)
    return true
  }
}

function closes(marker: string, body: string): boolean {
  const char = marker[0] === '~' ? '~' : '`'
  return new RegExp(`(^|\\n) {0,3}${char}{${marker.length},}[ \\t]*(\\n|$)`).test(body)
}
