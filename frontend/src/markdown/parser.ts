import { Marked, type MarkedOptions, type Tokens } from 'marked'

const escapes: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHTML(text: string): string {
  return text.replace(/[&<>"']/g, (c) => escapes[c]!)
}

const marked = new Marked({
  gfm: true,
  breaks: false,
  tokenizer: {
    // HTML is text: what an agent writes never becomes markup of the page.
    html: () => undefined,
    tag: () => undefined,
  },
  renderer: {
    // A remote image would tell its host who reads this and when.
    image({ href, text }: Tokens.Image) {
      return `<a href="${escapeHTML(href)}">${escapeHTML(text || href)}</a>`
    },
    html({ text }: Tokens.HTML | Tokens.Tag) {
      return escapeHTML(text)
    },
  },
})

/** The options that Blocks must lex with to agree with parse. */
export const options: MarkedOptions = marked.defaults

/** Returns HTML that still has to be sanitised. */
export function parse(markdown: string): string {
  return marked.parse(markdown, { async: false })
}
