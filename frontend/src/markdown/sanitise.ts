import { elsewhere } from './links'
import { hide } from './rest'

/** The elements of Markdown. Others are left out; what is in them stays. */
const elements = new Set([
  ...['p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'ul', 'ol', 'li', 'input'],
  ...['pre', 'code', 'span', 'em', 'strong', 'del', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
])
/** Elements whose content is no text for people. */
const dropped = new Set([
  ...[
    'script',
    'style',
    'title',
    'template',
    'svg',
    'math',
    'iframe',
    'object',
    'noscript',
    'noembed',
    'noframes',
  ],
  ...['audio', 'video', 'xmp', 'textarea', 'select'],
])
const attributes = ['start', 'align', 'checked', 'disabled']
/** Without the slashes it could be an address of the page's own host. */
const address = /^(?:https?:\/\/|mailto:)/i
const classes = /^(source|rows-\d+|language-[\w+#-]+|hljs(-[\w-]+)?|function_|class_|inherited__)$/

interface Policies {
  createPolicy(
    name: string,
    rules: { createHTML(html: string): string },
  ): { createHTML(html: string): string }
}

/** Its HTML is only given to a parser whose document is shown nowhere and runs nothing. */
const policy = (globalThis as { trustedTypes?: Policies }).trustedTypes?.createPolicy('abide-html', {
  createHTML: (html) => html,
})
const parser = new DOMParser()

/** Makes the elements of Markdown anew, with what they may have. No node and no HTML of `from` gets into the page. */
function rebuild(from: Node, into: Node): void {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) into.appendChild(document.createTextNode(node.nodeValue ?? ''))
    if (!(node instanceof Element)) continue
    const { localName } = node
    const ours = node.namespaceURI === from.ownerDocument?.documentElement.namespaceURI
    if (ours && elements.has(localName)) rebuild(node, into.appendChild(element(node)))
    else if (ours && !dropped.has(localName)) rebuild(node, into)
  }
}

function element(from: Element): HTMLElement {
  const made = document.createElement(from.localName)
  for (const name of attributes) {
    const value = from.getAttribute(name)
    if (value !== null) made.setAttribute(name, value)
  }
  const kept = (from.getAttribute('class') ?? '').split(/\s+/).filter((c) => classes.test(c))
  if (kept.length > 0) made.className = kept.join(' ')
  if (made instanceof HTMLAnchorElement) {
    const href = from.getAttribute('href')
    if (href !== null && address.test(href)) {
      made.href = href
      // The tooltip of a link is its whole address.
      if (href !== from.textContent) made.title = href
    }
    made.rel = 'noopener noreferrer nofollow'
    made.target = '_blank'
  }
  if (made instanceof HTMLInputElement) {
    made.type = 'checkbox'
    made.disabled = true
    made.ariaLabel = made.hasAttribute('checked') ? t`Done` : t`To do`
  }
  // A wide block scrolls, and so must be within reach of the keyboard.
  if (made instanceof HTMLPreElement) made.tabIndex = 0
  return made
}

/** Returns a fragment that is safe to put into the page, for any HTML. */
export function sanitise(html: string): DocumentFragment {
  const given = parser.parseFromString(policy?.createHTML(html) ?? html, 'text/html')
  const fragment = document.createDocumentFragment()
  rebuild(given.body, fragment)
  for (const link of fragment.querySelectorAll('a')) {
    // A link without a valid address is replaced by its text.
    if (link.protocol === ':') link.replaceWith(...link.childNodes)
    else nameHost(link)
  }
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

/**
 * A block that is too wide for the column scrolls in a box of its own, within reach of the
 * keyboard.
 */
function box(table: HTMLTableElement): void {
  const region = document.createElement('div')
  region.className = 'table'
  region.tabIndex = 0
  region.setAttribute('role', 'region')
  const heads = [...table.querySelectorAll('th')].map((th) => th.textContent?.trim()).filter(Boolean)
  region.setAttribute('aria-label', t`Table: ${heads.join(', ')}`.slice(0, 120))
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
  hide(rest.textContent ?? '', table.tBodies[0]!, region, t`Show all ${count} rows`)
}

/** How much of a preformatted text is in the page before the rest is asked for. */
const sourceMax = 20_000

function cut(source: HTMLElement): void {
  const text = source.textContent ?? ''
  source.tabIndex = -1
  if (text.length <= sourceMax * 1.5) return
  const at = text.lastIndexOf('\n', sourceMax) + 1 || sourceMax
  source.textContent = text.slice(0, at)
  hide(text.slice(at), source, source, t`Show all ${Math.ceil(text.length / 1000)} KB`)
}
