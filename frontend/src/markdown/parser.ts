import { getDefaults, Lexer, Parser, Renderer, type MarkedOptions, type Tokens } from 'marked'
import { BoundedTokenizer, isTooMuch, type CutTable, type Source } from './bounds'

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

class HTML extends Renderer {
  // A remote image would tell its host the reader's address and time.
  override image({ href, text }: Tokens.Image) {
    return `<a href="${escapeHTML(href)}">${escapeHTML(text || href)}</a>`
  }

  override html(token: Tokens.HTML | Tokens.Tag | Source) {
    return 'source' in token ? source(token.text) : escapeHTML(token.text)
  }

  override paragraph(token: Tokens.Paragraph) {
    return isTooMuch(token.text) ? source(token.text) : super.paragraph(token)
  }

  override table(token: CutTable) {
    const { rest } = token
    if (!rest) return super.table(token)
    // Its rows are counted here, for they are not read before they are asked for.
    return `${super.table(token)}<p class="rows-${rest.count}">${escapeHTML(rest.source)}</p>\n`
  }
}

function source(text: string): string {
  return `<p class="source">${escapeHTML(text)}</p>\n`
}

/** The options that Blocks must lex with to agree with parse. */
export const options: MarkedOptions = {
  ...getDefaults(),
  tokenizer: new BoundedTokenizer(),
  renderer: new HTML(),
}

/** Returns HTML that still has to be sanitised. */
export function parse(markdown: string): string {
  const lexer = new Lexer(options)
  const tokens = lexer.blockTokens(markdown.replace(/\r\n|\r/g, '\n'), lexer.tokens)
  for (const { src, tokens } of lexer.inlineQueue) {
    if (isTooMuch(src)) tokens.push({ type: 'text', raw: src, text: src, escaped: false })
    else lexer.inlineTokens(src, tokens)
  }
  return Parser.parse(tokens, options)
}
