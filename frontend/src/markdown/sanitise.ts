import createDOMPurify, { type Config } from 'dompurify'
import { elsewhere } from './links'
import { hide } from './rest'

const purify = createDOMPurify(window)

const config = {
  ALLOWED_TAGS: [
    ...['p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'ul', 'ol', 'li', 'input'],
    ...['pre', 'code', 'span', 'em', 'strong', 'del', 'a', 'table', 'thead', 'tbody', 'tr', 'th', 'td'],
  ],
  ALLOWED_ATTR: ['href', 'class', 'start', 'align', 'type', 'checked', 'disabled'],
  // Without the slashes it could be an address of the page's own host.
  ALLOWED_URI_REGEXP: /^(?:https?:\/\/|mailto:)/i,
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
    // The tooltip of a link is its whole address.
    if (href && href !== node.textContent) node.setAttribute('title', href)
  }
  if (name === 'INPUT') {
    node.setAttribute('type', 'checkbox')
    node.setAttribute('disabled', '')
    node.setAttribute('aria-label', node.hasAttribute('checked') ? t`Done` : t`To do`)
  }
  // A wide block scrolls, and so must be within reach of the keyboard.
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

/** Returns a fragment that is safe to put into the page, for any HTML. */
export function sanitise(html: string): DocumentFragment {
  const fragment = purify.sanitize(html, config) as unknown as DocumentFragment
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
