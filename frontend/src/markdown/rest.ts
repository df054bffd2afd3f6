/** How long a page stands still for rows that are asked for. */
const sliceMs = 20

/** Keeps text out of the page until it is asked for, at the end of an element. */
export function hide(text: string, element: Element, block: Element, label: string): void {
  const rest = document.createElement('template')
  rest.content.append(text)
  element.append(rest)
  const button = document.createElement('button')
  button.className = 'rest'
  button.textContent = label
  block.after(button)
}

/**
 * A block that is shown whole. Of a table it has the rows that were read: when
 * the table has grown they are not read again.
 */
export class Opened {
  private source = ''
  private rows: Element[] = []
  /** How many rows were in the page: a new look at the table begins with no fewer. */
  private most = 0

  /** `read` makes a table of its source: with its first rows, and a template for the source of the others. */
  constructor(private readonly read: (source: string) => DocumentFragment) {}

  /** Puts the hidden rest of the block before the button into the page. */
  show(button: HTMLElement): void {
    const block = button.previousElementSibling as HTMLElement
    const rest = block.querySelector('template')
    button.remove()
    if (!rest) return
    const body = rest.parentElement!
    if (body === block) return rest.replaceWith(rest.content)
    const source = rest.content.textContent ?? ''
    rest.remove()
    if (this.source === '' || !source.startsWith(this.source)) {
      this.source = source.slice(0, headOf(source))
      this.rows = []
    }
    body.append(...this.rows)
    this.add(source, body)
  }

  private add(source: string, body: Element): void {
    const head = source.slice(0, headOf(source))
    const until = performance.now() + sliceMs
    let more: boolean
    do {
      const part = this.read(head + source.slice(this.source.length))
      const rows = [...part.querySelectorAll('tbody > tr')]
      const left = part.querySelector('template')?.content.textContent
      body.append(...rows)
      more = body.children.length < this.most
      if (!more) this.most = body.children.length
      if (left == null) {
        // The last row may still grow.
        this.source = source.slice(0, source.lastIndexOf('\n') + 1)
        this.rows.push(...rows.slice(0, -1))
        return
      }
      this.source = source.slice(0, source.length - (left.length - head.length))
      this.rows.push(...rows)
    } while (more || performance.now() < until)
    // A block that is no longer in the page is drawn again.
    setTimeout(() => body.isConnected && this.add(source, body))
  }
}

/** Where the rows begin. */
function headOf(source: string): number {
  return source.indexOf('\n', source.indexOf('\n') + 1) + 1
}
