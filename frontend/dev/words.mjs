// The words of the screens. The sources contain them where they are shown: as text and labels of the markup, and in
// code as t`Turn ended: ${why}.` The catalogue src/words.json maps each to the words shown. The build puts those in,
// so the lookup costs nothing at run time. The mode "pseudo" shows every word of the catalogue in accented letters
// that no source uses: a plain word on the screen is missing from the catalogue.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'svelte/compiler'

const source = fileURLToPath(new URL('../src/', import.meta.url))
/** The service worker. It shows words in notifications, and the bundler does not see it. */
export const workerFile = fileURLToPath(new URL('./sw.js', import.meta.url))
/** The states of the catalogue page find some elements by the app's words. */
const states = fileURLToPath(new URL('./catalogue/', import.meta.url))
export const catalogueFile = join(source, 'words.json')

/** Attributes, and properties of the app's own components, whose values are shown or read aloud. */
const spoken = /^(aria-(label|description|roledescription)|alt|error|label|placeholder|title|what|words)$/
/** The text of these elements is typed or run literally, so it is not translated. */
const verbatim = new Set(['code', 'kbd', 'pre'])
const head = '<script lang="ts">'

/**
 * Finds the words of a file.
 * @param {string} text of a .svelte or .ts file
 * @param {string} file its name
 * @returns {{ messages: string[], written(say: (message: string) => string): string }} each message has {0}, {1} … in
 *   place of its expressions; `written` returns the file with each message replaced by `say(message)`
 */
export function wordsIn(text, file) {
  const script = file.endsWith('.ts')
  const code = script ? head + text : text
  // A `</script` in a string would end the script. The replacement has the same length, so positions stay valid.
  const whole = script ? `${code.replaceAll('</script', '<\\script')}</script>` : text
  /** @type {{ start: number, end: number, message: string, parts: [number, number][], write(said: string[]): string }[]} */
  const found = []

  /** @param {any[]} nodes */
  const fragment = (nodes) => {
    for (let i = 0; i < nodes.length; i++) {
      const run = []
      while (nodes[i]?.type === 'Text' || nodes[i]?.type === 'ExpressionTag') run.push(nodes[i++])
      text_(run, false)
      visit(nodes[i])
    }
  }
  /** @param {any[]} run @param {boolean} attribute */
  const text_ = (run, attribute) => {
    const shown = run.filter((n) => n.type === 'ExpressionTag')
    const raw = run.map((n) => (n.type === 'Text' ? n.data : `{${shown.indexOf(n)}}`)).join('')
    const message = raw.replace(/[ \n\t]+/g, ' ').trim()
    if (run.some((n) => n.type === 'Text' && /\p{L}{2}/u.test(n.data))) {
      const [before] = /^[ \n\t]*/.exec(raw) ?? ['']
      const [after] = /[ \n\t]*$/.exec(raw) ?? ['']
      found.push({
        start: run[0].start,
        end: run.at(-1).end,
        message,
        parts: shown.map((n) => [n.start, n.end]),
        write: (said) => before + said.map((s, i) => (i % 2 ? s : escaped(s, attribute))).join('') + after,
      })
    }
    shown.forEach(visit)
  }
  /** @param {any} node */
  const visit = (node) => {
    if (!node || typeof node !== 'object') return
    if (Array.isArray(node)) return node.forEach(visit)
    if (node.type === 'Fragment') return fragment(node.nodes)
    if (node.type === 'RegularElement' && verbatim.has(node.name)) return visit(node.attributes)
    if (node.type === 'Attribute' && Array.isArray(node.value)) {
      if (spoken.test(node.name)) return text_(node.value, true)
    } else if (node.type === 'TaggedTemplateExpression' && node.tag.name === 't') {
      const { quasis, expressions } = node.quasi
      found.push({
        start: node.start,
        end: node.end,
        message: quasis.map((q, i) => q.value.cooked + (i < expressions.length ? `{${i}}` : '')).join(''),
        parts: expressions.map((e) => [e.start, e.end]),
        write: (said) =>
          `\`${said.map((s, i) => (i % 2 ? `\${${s}}` : s.replace(/[`\\$]/g, '\\$&'))).join('')}\``,
      })
    }
    for (const [key, value] of Object.entries(node)) {
      if (key !== 'css' && key !== 'loc' && key !== 'parent') visit(value)
    }
  }
  visit(parse(whole, { modern: true, filename: file }))
  found.sort((a, b) => a.start - b.start || b.end - a.end)

  /** @param {(message: string) => string} say */
  const written = (say) => {
    /** @param {number} from @param {number} to @param {number} next */
    const between = (from, to, next) => {
      let out = ''
      for (let i = next; i < found.length && found[i].start < to; i++) {
        const w = found[i]
        if (w.start < from) continue
        const said = say(w.message).split(/\{(\d+)\}/)
        const parts = said.map((s, k) => (k % 2 ? between(...w.parts[Number(s)], i + 1) : s))
        out += code.slice(from, w.start) + w.write(parts)
        from = w.end
      }
      return out + code.slice(from, to)
    }
    return script ? between(head.length, head.length + text.length, 0) : between(0, code.length, 0)
  }
  return { messages: found.map((w) => w.message), written }
}

/** @param {string} text @param {boolean} attribute */
function escaped(text, attribute) {
  const safe = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('{', '&#123;')
  return attribute ? safe.replaceAll('"', '&quot;') : safe
}

/**
 * The message in accented letters that no source uses, between brackets.
 * @param {string} message
 */
export function pseudo(message) {
  const plain = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
  const other = [...'áƀçđéƒĝĥíĵķļɱñóþɋřšţúṽŵẋýžÁƁÇĐÉƑĜĤÍĴĶĻṀÑÓÞɊŘŠŢÚṼŴẊÝŽ']
  return `⟦${message.replace(/[a-zA-Z]/g, (letter) => other[plain.indexOf(letter)])}⟧`
}

/** Every message of the sources, sorted. */
export function messages() {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  const all = files.filter((file) => /\.(svelte|ts)$/.test(file) && !file.endsWith('.d.ts'))
  const found = all.flatMap((file) => {
    const text = readFileSync(join(source, file), 'utf8')
    return file.endsWith('.svelte') || text.includes('t`') ? wordsIn(text, file).messages : []
  })
  return [...new Set([...found, ...wordsIn(readFileSync(workerFile, 'utf8'), 'sw.ts').messages])].sort()
}

/** @returns {Record<string, string>} */
export const catalogue = () => JSON.parse(readFileSync(catalogueFile, 'utf8'))

/**
 * The function that maps a message to the words shown, for a mode of the build.
 * @param {string} mode
 * @returns {(message: string) => string}
 */
export function saying(mode) {
  const said = catalogue()
  return mode === 'pseudo' ? pseudo : (message) => said[message] ?? message
}

/**
 * The Vite plugin that puts the words of the catalogue into the sources.
 * @returns {import('vite').Plugin}
 */
export function words() {
  let say = (/** @type {string} */ message) => message
  return {
    name: 'abide-words',
    enforce: 'pre',
    configResolved({ mode }) {
      say = saying(mode)
    },
    transform(code, id) {
      const file = id.split('?')[0] ?? id
      if (
        id !== file ||
        !(file.startsWith(source) || file.startsWith(states)) ||
        !/\.(svelte|ts)$/.test(file)
      )
        return null
      if (!file.endsWith('.svelte') && !code.includes('t`')) return null
      return { code: wordsIn(code, file).written(say), map: null }
    },
  }
}

/** Rewrites the catalogue: keeps the words of known messages, adds new messages, removes those no source has. */
function collect() {
  const said = catalogue()
  const all = Object.fromEntries(messages().map((message) => [message, said[message] ?? message]))
  writeFileSync(catalogueFile, `${JSON.stringify(all, null, 2)}\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) collect()
