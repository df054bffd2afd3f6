import createDOMPurify, { type Config } from 'dompurify'
import { Blocks } from './blocks'
import { elsewhere } from './links'
import { Outline } from './outline'
import { parse } from './parser'
import { hide, Opened } from './rest'
import { Tail } from './tail'

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
      .filter((c) =>
        /^(source|rows-\d+|language-[\w+#-]+|hljs(-[\w-]+)?|function_|class_|inherited__)$/.test(c),
      )
    if (kept.length > 0) node.setAttribute('class', kept.join(' '))
    else node.removeAttribute('class')
  }
})

/** Returns a fragment that is safe to put into the page, whatever the HTML was. */
export function sanitise(html: string): DocumentFragment {
  const fragment = purify.sanitize(html, config) as unknown as DocumentFragment
  for (const link of fragment.querySelectorAll('a')) nameHost(link)
  for (const table of fragment.querySelectorAll('table')) box(table)
  for (const source of fragment.querySelectorAll<HTMLElement>('p.source')) cut(source)
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
  const rest = region.nextElementSibling
  const count = /^rows-(\d+)$/.exec(rest?.className ?? '')?.[1]
  if (!rest || count === undefined) return
  rest.remove()
  hide(rest.textContent ?? '', table.tBodies[0]!, region, `Show all ${count} rows`)
}

/** How much of what is shown as it was written is in the page before the rest is asked for. */
const sourceMax = 20_000

function cut(source: HTMLElement): void {
  const text = source.textContent ?? ''
  source.tabIndex = -1
  if (text.length <= sourceMax * 1.5) return
  const at = text.lastIndexOf('\n', sourceMax) + 1 || sourceMax
  source.textContent = text.slice(0, at)
  hide(text.slice(at), source, source, `Show all ${Math.ceil(text.length / 1000)} KB`)
}

const remembered = new Map<string, DocumentFragment>()
const rememberedMax = 300

/** Renders settled blocks; scrolling back to them does not parse them again. */
function rendered(blocks: readonly string[]): DocumentFragment {
  const key = blocks.join('')
  let fragment = remembered.get(key)
  if (fragment)
    remembered.delete(key) // so that it is the newest again
  else fragment = sanitise(blocks.map(parse).join(''))
  remembered.set(key, fragment)
  if (remembered.size > rememberedMax) remembered.delete(remembered.keys().next().value!)
  return fragment.cloneNode(true) as DocumentFragment
}

/**
 * A message's blocks are in parts of so many. A part is laid out by itself (prose.css):
 * what grows in the last one costs the others nothing.
 */
const partBlocks = 32

/** The longest pause between two looks at a tail, unless it takes longer than that to render. */
const pauseMs = 60

/** Shows one message in an element: settled blocks once, the tail as it grows. */
export class Renderer {
  private readonly blocks = new Blocks()
  private readonly tail = new Tail()
  /** How many settled blocks are in the page. */
  private shown = 0
  private costMs = 0
  private endedAt = 0
  /** The levels of the headings that are settled. */
  private outline: Outline
  /** The blocks shown whole, by their place among all that are cut: one that grows stays as it was left. */
  private readonly opened = new Map<number, Opened>()
  private later: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly element: HTMLElement,
    /** Called with each code block once its text is final. */
    private readonly onCode: (code: HTMLElement) => void = () => {},
    /** Nothing is kept out of the page, however large it is. */
    private readonly whole = false,
    /** The level of its first heading: below those of the screen. */
    private readonly level = 2,
  ) {
    this.outline = new Outline(level)
    // What is remembered is shown as a copy, which has no listeners of its own.
    element.addEventListener('click', (event) => {
      const button = (event.target as Element).closest<HTMLElement>('button.rest')
      if (!button) return
      const region = button.previousElementSibling as HTMLElement
      this.open(this.tables().indexOf(region), button)
      region.focus({ preventScroll: true })
    })
  }

  /**
   * Shows the text so far. A tail that takes long to render is rendered less
   * often, so that a long paragraph does not cost every frame.
   */
  update(text: string, growing: boolean): void {
    clearTimeout(this.later)
    const pause = Math.min(this.costMs * 4, Math.max(pauseMs, this.costMs))
    const rest = this.endedAt + pause - performance.now()
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
    const active = document.activeElement
    const focused = this.element.contains(active) ? this.tables().indexOf(active!) : -1
    this.take(text, growing)
    if (focused < 0) return
    const table = this.tables()[focused] as HTMLElement | undefined
    if (table !== document.activeElement) table?.focus({ preventScroll: true })
  }

  /** What can be cut, in order. */
  private tables(): Element[] {
    return [...this.element.querySelectorAll('.table, .source')]
  }

  private take(text: string, growing: boolean): void {
    const continues = this.blocks.update(text.replaceAll('\r\n', '\n'))
    if (!this.blocks.grew) this.opened.clear()
    const { settled, tail } = this.blocks
    if (!continues) {
      this.element.replaceChildren()
      this.shown = 0
      this.outline = new Outline(this.level)
    }
    if (!continues || settled.length > this.shown || !growing) this.tail.remove()
    while (this.shown < settled.length) {
      const part = this.part()
      const from = this.shown
      this.shown = Math.min(settled.length, from - (from % partBlocks) + partBlocks)
      const fragment = rendered(settled.slice(from, this.shown))
      this.outline = this.outline.level(fragment)
      this.append(part, fragment)
    }
    if (!growing) {
      const fragment = rendered([tail])
      this.outline.level(fragment)
      return this.tail.hold(this.append(this.part(), fragment))
    }
    // A tail that grows is never seen again as it is: it is not worth remembering.
    let fresh = false
    this.tail.show(this.part(), tail, () => {
      fresh = true
      const fragment = sanitise(parse(tail))
      this.outline.level(fragment)
      return fragment
    })
    if (fresh) this.reopen()
  }

  /** The part that what comes next is in. */
  private part(): Element {
    const at = Math.floor(this.shown / partBlocks)
    return this.element.children[at] ?? this.element.appendChild(document.createElement('div'))
  }

  private append(part: Element, fragment: DocumentFragment): ChildNode[] {
    const nodes = [...fragment.childNodes]
    const code = [...fragment.querySelectorAll<HTMLElement>('pre > code')]
    part.append(fragment)
    this.reopen()
    for (const block of code) this.onCode(block)
    return nodes
  }

  /** Shows those tables whole that are to be. */
  private reopen(): void {
    this.tables().forEach((table, at) => {
      const rest = table.nextElementSibling
      const asked = this.whole || this.opened.has(at)
      if (asked && rest?.matches('button.rest')) this.open(at, rest as HTMLElement)
    })
  }

  private open(at: number, button: HTMLElement): void {
    const opened = this.opened.get(at) ?? new Opened((source) => sanitise(parse(source)))
    this.opened.set(at, opened)
    opened.show(button)
  }
}
