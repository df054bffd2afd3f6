const openFence = /^ {0,3}(`{3,}|~{3,})([^\n`]*)\n([\s\S]*)$/

/** How much text before an addition is looked at to know that it only adds words, and how long such an addition is. */
const near = 64
const longest = 512
/**
 * A word, a space, and then on the same line nothing that markdown reads as more than itself.
 * A full stop and a colon could be in an address unless a space follows them.
 */
const words = /[\p{L}\p{N}] (?:[^\s\p{C}#&)*.:<>@[\\\]_`|~]| |[.:](?= |$))*$/u

/**
 * The end of a message that grows, as the last nodes of an element. Unchanged parts keep their
 * nodes: the cost of a frame is that of the new text alone.
 */
export class Tail {
  private nodes: ChildNode[] = []
  private text = ''
  /** The text node that the last line ends in, if words may be added to it. */
  private last: Text | null = null
  private fence: { code: Text; head: string } | null = null

  /** Shows the text so far at the end of the element; `render` makes nodes of all of it, where it must. */
  show(element: Element, text: string, render: () => DocumentFragment): void {
    if (!(this.fence ? this.addCode(text) : this.addWords(text)) && !this.openFence(element, text)) {
      this.fence = null
      this.nodes = patch(element, this.nodes, render())
      this.last = lastText(this.nodes)
    }
    this.text = text
  }

  /** Takes nodes as the end, from any source. */
  hold(nodes: ChildNode[]): void {
    this.remove()
    this.nodes = nodes
  }

  remove(): void {
    for (const node of this.nodes) node.remove()
    this.nodes = []
    this.text = ''
    this.last = this.fence = null
  }

  /**
   * Words that go on a line need no parser. Spaces at the end wait for the next text, because a
   * parser drops some.
   */
  private addWords(text: string): boolean {
    const { last, text: was } = this
    if (!last || text.length - was.length > longest || !text.startsWith(was)) return false
    const from = Math.max(0, was.length - near)
    const begin = from + (words.exec(text.slice(from))?.index ?? text.length)
    if (begin + 2 > was.length) return false
    const before = unspaced(was)
    const shown = unspaced(last.data)
    if (!shown.endsWith(before.slice(begin)) || was.includes(']:')) return false
    if (shown !== last.data) last.deleteData(shown.length, last.length - shown.length)
    last.appendData(unspaced(text).slice(before.length))
    return true
  }

  /** An open fence only grows by text: no parsing, however long the code becomes. */
  private openFence(element: Element, text: string): boolean {
    const match = openFence.exec(text)
    if (!match || closes(match[1]!, match[3]!)) return false
    this.remove()
    const pre = document.createElement('pre')
    pre.tabIndex = 0
    const code = document.createElement('code')
    const body = document.createTextNode(match[3]!)
    code.append(body)
    pre.append(code)
    element.append(pre)
    this.fence = { code: body, head: text.slice(0, text.length - match[3]!.length) }
    this.nodes = [pre]
    return true
  }

  private addCode(text: string): boolean {
    if (!this.fence || !text.startsWith(this.fence.head)) return false
    const { code, head } = this.fence
    const body = text.slice(head.length)
    const marker = head.trim().match(/^(`+|~+)/)?.[0] ?? '```'
    // Look again from the start of the line that the addition began in.
    if (closes(marker, body.slice(body.lastIndexOf('\n', code.length - 1) + 1))) return false
    code.appendData(body.slice(code.length))
    return true
  }
}

function closes(marker: string, body: string): boolean {
  const char = marker[0] === '~' ? '~' : '`'
  return new RegExp(`(^|\\n) {0,3}${char}{${marker.length},}[ \\t]*(\\n|$)`).test(body)
}

function unspaced(text: string): string {
  let end = text.length
  while (text[end - 1] === ' ') end--
  return text.slice(0, end)
}

/**
 * The elements around the last line of a text, if that is a line of prose: a cell may be one too
 * many, a link may have ended.
 */
const prose = new Set(['P', 'LI', 'H1', 'H2', 'H3', 'H4', 'H5', 'H6'])

/** The text that nodes end in, but for lines between blocks; null where they end in anything but prose. */
function lastText(nodes: readonly Node[]): Text | null {
  const last = nodes.findLast((node) => !(node instanceof Text && /^\n*$/.test(node.data)))
  if (last instanceof Text) return prose.has(last.parentNode?.nodeName ?? '') ? last : null
  return last ? lastText([...last.childNodes]) : null
}

/** Makes the last nodes of an element equal to the fragment's; those that are the same stay. */
function patch(element: Node, was: readonly ChildNode[], fragment: Node): ChildNode[] {
  const now = [...fragment.childNodes]
  // The contents of a template are not compared.
  const hides = (fragment as ParentNode).querySelector('template') !== null
  let kept = 0
  while (!hides && kept < was.length && kept < now.length && keep(was[kept]!, now[kept]!)) kept++
  for (const node of was.slice(kept)) node.remove()
  for (const node of now.slice(kept)) element.appendChild(node)
  return [...was.slice(0, kept), ...now.slice(kept)]
}

/** Whether a node equals another, or could be made equal. */
function keep(was: ChildNode, now: ChildNode): boolean {
  if (was.isEqualNode(now)) return true
  if (was instanceof Text && now instanceof Text) {
    if (now.data.startsWith(was.data)) was.appendData(now.data.slice(was.length))
    else was.data = now.data
    return true
  }
  if (!(was instanceof Element) || !was.cloneNode(false).isEqualNode(now.cloneNode(false))) return false
  patch(was, [...was.childNodes], now)
  return true
}
