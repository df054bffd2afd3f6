import type { Token } from './tokens'
import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import c from 'highlight.js/lib/languages/c'
import cpp from 'highlight.js/lib/languages/cpp'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import dockerfile from 'highlight.js/lib/languages/dockerfile'
import go from 'highlight.js/lib/languages/go'
import ini from 'highlight.js/lib/languages/ini'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import kotlin from 'highlight.js/lib/languages/kotlin'
import makefile from 'highlight.js/lib/languages/makefile'
import markdown from 'highlight.js/lib/languages/markdown'
import python from 'highlight.js/lib/languages/python'
import ruby from 'highlight.js/lib/languages/ruby'
import rust from 'highlight.js/lib/languages/rust'
import shell from 'highlight.js/lib/languages/shell'
import sql from 'highlight.js/lib/languages/sql'
import swift from 'highlight.js/lib/languages/swift'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'

const languages = {
  ...{ bash, c, cpp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, makefile, markdown },
  ...{ python, ruby, rust, shell, sql, swift, typescript, xml, yaml },
}
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language)
hljs.registerAliases(['svelte', 'vue'], { languageName: 'xml' })

interface Asked {
  id: number
  language: string
  text: string
  /** Which parts look how is wanted, not the HTML. */
  tokens?: boolean
}

onmessage = ({ data }: MessageEvent<Asked>) => {
  let html: string | null = null
  if (hljs.getLanguage(data.language)) {
    html = hljs.highlight(data.text, { language: data.language, ignoreIllegals: true }).value
  }
  if (data.tokens) postMessage({ id: data.id, tokens: html === null ? null : tokensIn(html) })
  else postMessage({ id: data.id, html })
}

/** Reads the tokens from the highlighter's output: spans, text and five entities. */
function tokensIn(html: string): Token[] {
  const tokens: Token[] = []
  const open: [number, string][] = []
  let at = 0
  for (const [found, look] of html.matchAll(/<span class="([\w -]*)">|<\/span>|&[#\w]+;|[^<&]+/g)) {
    if (look !== undefined) open.push([at, look])
    else if (found === '</span>') {
      const begun = open.pop()
      if (begun) tokens.push([begun[0], at, begun[1]])
    } else at += found.startsWith('&') ? 1 : found.length
  }
  return tokens
}
