/** A host with a dot and letters after it, or one written in numbers. */
const hostLike = /^(?:[\p{L}\p{N}_-]+\.)+(?:\p{L}{2,}|xn--[\w-]+)$|^\d{1,3}(?:\.\d{1,3}){3}$/u

/**
 * Endings of names of files and libraries that are not taken for hosts: bun.sh is an address before
 * it is a script.
 */
const fileEndings = new Set(
  (
    'c cfg conf cpp cs css csv diff go h hpp htm html ini ipynb java js json jsonl jsx kt lock log lua mdx mjs ' +
    'mod patch php png rb rst scss sql sum svelte svg swift toml ts tsx txt vue xml yaml yml zig'
  ).split(' '),
)

/**
 * Where a link goes, for a person to see, if its text looks like an address somewhere else; null if
 * it does not. An address in the text is judged by the part before its path, as a person reads it.
 */
export function elsewhere(text: string, href: string): string | null {
  const real = placeOf(href)
  if (real === null) return null
  const named = text
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '') // invisible characters
    .replace(/[。｡․]/gu, '.') // dots that are none
    .toLowerCase()
    .split(/\s+/u)
    .map(addressIn)
    .filter((place) => place !== null)
  return named.every((place) => place === bare(real)) ? null : real
}

/** The host of a page, or the whole address of a mailbox. */
function placeOf(href: string): string | null {
  try {
    const url = new URL(href)
    return url.protocol === 'mailto:' ? decodeURIComponent(url.pathname).toLowerCase() : url.host
  } catch {
    return null
  }
}

/** The host that a word names, as it would be read; null when it is no address. */
function addressIn(word: string): string | null {
  const scheme = word.search(/https?:|mailto:/)
  return authorityOf(word) ?? (scheme > 0 ? authorityOf(word.slice(scheme)) : null)
}

function authorityOf(word: string): string | null {
  const found = /^[^\p{L}\p{N}]*(https?:\/*|mailto:)?([\p{L}\p{N}_.@:-]*)/u.exec(word)!
  const authority = found[2]!.replace(/[^\p{L}\p{N}]+$/u, '')
  const hosts = authority.split('@').map((part) => part.replace(/:\d*$/, ''))
  if (found[1] === undefined && isName(authority, word.slice(found[0].length))) return null
  const named = found[1] !== undefined ? authority !== '' : hosts.some((host) => hostLike.test(host))
  return named ? bare(ascii(authority)) : null
}

/** Whether a word is the name of a file or a library rather than a host: Node.js, README.md, main.go:12. */
function isName(authority: string, rest: string): boolean {
  if (authority.includes('@') || authority.startsWith('www.') || /^[/\\∕⁄]/u.test(rest)) return false
  return fileEndings.has(authority.replace(/:\d*$/, '').split('.').at(-1)!)
}

/** As it would stand in an address: a host in other letters is written there in these. */
function ascii(authority: string): string {
  if (authority.includes('@')) return authority
  try {
    return new URL(`http://${authority}`).host
  } catch {
    return authority
  }
}

function bare(place: string): string {
  return place.replace(/^www\./, '').replace(/:(?:80|443)$/, '')
}
