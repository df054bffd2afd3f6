import { copyText } from '../text/clipboard'
import { Blocks } from './blocks'
import { Outline } from './outline'
import { parse } from './parser'
import { Portions } from './portions'
import { Opened } from './rest'
import { sanitise } from './sanitise'
import { Tail } from './tail'

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

/** The button that copies the code block after it. Its word is in the style sheet: it is no text of the message. */
function copyButton(): HTMLElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copycode'
  button.setAttribute('aria-label', t`Copy code`)
  return button
}

async function copyCode(button: HTMLElement): Promise<void> {
  const copied = await copyText(button.nextElementSibling?.textContent ?? '')
  button.dataset['copied'] = String(copied)
  setTimeout(() => delete button.dataset['copied'], 1500)
}

/** How long the page stands still for a message that is long. */
const sliceMs = 20

/** The longest pause between two looks at a tail, unless it takes longer than that to render. */
const pauseMs = 60

/** A part of a message that is in the page. */
interface Drawn {
  element: HTMLElement
  /** How many of the message's blocks were shown when its last one was. */
  shown: number
}

/**
 * Shows one message in an element: settled blocks once, the tail as it grows. Of a message
 * that is long the newest portions are in the page, and before them a button for earlier ones.
 */
export class Renderer {
  private readonly blocks = new Blocks()
  private readonly tail = new Tail()
  private portions = new Portions()
  /** How many of the settled blocks have their place. */
  private placed = 0
  /** The elements in the page, by the index of the part. */
  private readonly drawn = new Map<number, Drawn>()
  /**
   * The levels of the settled headings, by portion: the portion before one may not be in the page.
   */
  private readonly outlines = new Map<number, Outline>()
  /** How many earlier portions were asked for. */
  private more = 0
  private readonly earlier = document.createElement('button')
  private costMs = 0
  private endedAt = 0
  /** The blocks shown whole, by part and place in it: one that grows stays as it was left. */
  private readonly opened = new Map<string, Opened>()
  private anew = false
  private later: ReturnType<typeof setTimeout> | undefined
  private filling: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly element: HTMLElement,
    /** Called with each code block once its text is final. */
    private readonly onCode: (code: HTMLElement) => void = () => {},
    /** Nothing is kept out of the page, however large it is. */
    private readonly whole = false,
    /** The level of its first heading: below those of the screen. */
    private readonly level = 2,
  ) {
    this.earlier.className = 'rest'
    // A remembered element is shown as a copy, which has no listeners of its own.
    element.addEventListener('click', (event) => {
      const copy = (event.target as Element).closest<HTMLElement>('button.copycode')
      if (copy) return void copyCode(copy)
      const button = (event.target as Element).closest<HTMLElement>('button.rest')
      if (!button) return
      if (button === this.earlier) return this.showEarlier()
      const region = button.previousElementSibling as HTMLElement
      this.open(this.placeOf(region), button)
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
    const until = began + sliceMs
    if (!this.blocks.update(text.replaceAll('\r\n', '\n'), () => performance.now() > until)) this.anew = true
    if (!this.blocks.grew) {
      this.opened.clear()
      this.more = 0
    }
    if (this.blocks.behind) this.later = setTimeout(() => this.update(text, growing))
    else this.show(growing)
    this.endedAt = performance.now()
    this.costMs = this.endedAt - began
  }

  /** Ends pending work. */
  stop(): void {
    clearTimeout(this.later)
    clearTimeout(this.filling)
  }

  private show(growing: boolean): void {
    const active = document.activeElement
    const focused = this.element.contains(active) ? this.placeOf(active!) : null
    this.take(growing)
    if (!focused) return
    const table = this.tables().find((table) => this.placeOf(table) === focused) as HTMLElement | undefined
    if (table !== document.activeElement) table?.focus({ preventScroll: true })
  }

  /** The elements that can be cut, in order. */
  private tables(of: Element = this.element): Element[] {
    return [...of.querySelectorAll('.table, .source')]
  }

  /** The index of an element among all that can be cut, also those not in the page. */
  private placeOf(table: Element): string | null {
    for (const [at, { element }] of this.drawn) {
      const place = element.contains(table) ? this.tables(element).indexOf(table) : -1
      if (place >= 0) return `${at} ${place}`
    }
    return null
  }

  private take(growing: boolean): void {
    const { settled, tail } = this.blocks
    if (this.anew) {
      this.anew = false
      this.tail.remove()
      this.element.replaceChildren()
      this.drawn.clear()
      this.outlines.clear()
      this.portions = new Portions()
      this.placed = 0
    }
    if (settled.length > this.placed || !growing) this.tail.remove()
    for (; this.placed < settled.length; this.placed++) this.portions.add(settled[this.placed]!)
    const last = this.portions.parts.length - 1
    this.drawPortion(this.portions.begin(last))
    const { element } = this.drawn.get(last)!
    const outline = this.outlineAt(last)
    if (!growing) {
      const fragment = rendered([tail])
      outline.level(fragment)
      this.tail.hold(this.append(element, fragment))
    } else {
      // A tail that grows is never seen again as it is: it is not worth remembering.
      let fresh = false
      this.tail.show(element, tail, () => {
        fresh = true
        const fragment = sanitise(parse(tail))
        outline.level(fragment)
        return fragment
      })
      if (fresh) this.reopen(element)
    }
    this.fill()
  }

  /**
   * Puts the wanted portions into the page, the newest first; work beyond a slice goes on in
   * another task.
   */
  private fill(): void {
    clearTimeout(this.filling)
    if (this.anew) return
    const { parts } = this.portions
    const first = this.whole ? 0 : this.portions.first(this.more)
    for (const [at, { element }] of this.drawn) {
      if (at >= first) continue
      element.remove()
      this.drawn.delete(at)
      this.outlines.delete(parts[at]!.portion)
    }
    const label = t`Show more of ${parts[first]!.from} earlier parts`
    // Set again, the same words would be new ones: laid out and painted for each word that comes at the end.
    if (this.earlier.textContent !== label) this.earlier.textContent = label
    if (first === 0) this.earlier.remove()
    else if (this.earlier !== this.element.firstChild) this.element.prepend(this.earlier)
    const until = performance.now() + sliceMs
    for (let at = parts.length; at > first;) {
      at = this.portions.begin(at - 1)
      if (this.drawPortion(at) && performance.now() > until) {
        this.filling = setTimeout(() => this.fill())
        return
      }
    }
  }

  private showEarlier(): void {
    this.more++
    this.fill()
    if (this.earlier.isConnected) return
    const begin = this.element.firstElementChild as HTMLElement
    begin.tabIndex = -1
    begin.focus({ preventScroll: true })
  }

  /** Draws the new part of the portion that begins with a part; false when nothing is. */
  private drawPortion(from: number): boolean {
    const { parts } = this.portions
    let drew = false
    for (let at = from; parts[at]?.portion === parts[from]!.portion; at++) {
      const { from: begin, to } = parts[at]!
      const part = this.drawn.get(at) ?? this.begin(at, begin)
      if (part.shown === to) continue
      const fragment = rendered(this.blocks.settled.slice(part.shown, to))
      this.outlines.set(parts[at]!.portion, this.outlineAt(at).level(fragment))
      part.shown = to
      this.append(part.element, fragment)
      drew = true
    }
    return drew
  }

  private outlineAt(part: number): Outline {
    return this.outlines.get(this.portions.parts[part]!.portion) ?? new Outline(this.level)
  }

  /** Puts an empty part in its place. */
  private begin(at: number, shown: number): Drawn {
    const element = document.createElement('div')
    let next = Infinity
    for (const other of this.drawn.keys()) if (other > at && other < next) next = other
    this.element.insertBefore(element, this.drawn.get(next)?.element ?? null)
    const part = { element, shown }
    this.drawn.set(at, part)
    return part
  }

  private append(part: Element, fragment: DocumentFragment): ChildNode[] {
    const nodes = [...fragment.childNodes]
    const code = [...fragment.querySelectorAll<HTMLElement>('pre > code')]
    part.append(fragment)
    this.reopen(part)
    for (const block of code) {
      block.parentElement!.before(copyButton())
      this.onCode(block)
    }
    return nodes
  }

  /** Shows those tables of a part whole that are to be. */
  private reopen(part: Element): void {
    for (const table of this.tables(part)) {
      const rest = table.nextElementSibling
      if (!rest?.matches('button.rest')) continue
      const place = this.placeOf(table)
      if (this.whole || (place !== null && this.opened.has(place))) this.open(place, rest as HTMLElement)
    }
  }

  private open(place: string | null, button: HTMLElement): void {
    if (place === null) return
    const opened = this.opened.get(place) ?? new Opened((source) => sanitise(parse(source)))
    this.opened.set(place, opened)
    opened.show(button)
  }
}
