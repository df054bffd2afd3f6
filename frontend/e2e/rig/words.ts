// The words on a screen in the pseudo-language. A word in plain letters is either data of the state (a name, a path, a
// text of an agent), or missing in src/words.json.
import { choices } from '../../dev/catalogue/state.ts'
import { states, type State } from '../../dev/catalogue/states.ts'
import { editors } from '../../src/text/editor.ts'
import type { View } from './catalogue.ts'

const plain = (text: string) => text.match(/(?<!\p{L})[a-zA-Z]{2,}(?!\p{L})/gu) ?? []
/** Known plain words: names of editors, the time zone, the browser's names of days and months, and its error messages, words split between two chunks, the app's name. */
const others = [
  Intl.DateTimeFormat().resolvedOptions().timeZone,
  'Mon Tue Wed Thu Fri Sat Sun',
  'AM PM Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec',
  'Cannot read properties of null reading',
  'anything migration ies abide',
  ...Object.values(editors),
].flatMap(plain)

/** The words that are data of any state, and a few others. */
export async function knownWords(): Promise<Set<string>> {
  const known = new Set(others)
  for (const state of states) {
    for (const text of await given(state)) for (const word of plain(text)) known.add(word)
  }
  return known
}

/** The plain words on the screen that are not `known`, each with its text. */
export async function strangeWords(view: View, known: Set<string>): Promise<Record<string, string>> {
  const strange: Record<string, string> = {}
  for (const text of await texts(view)) {
    for (const word of plain(text)) if (!known.has(word)) strange[word] ??= text
  }
  return strange
}

/** A call without arguments, and the requests that the hub of a state tells apart. */
const routes: string[][] = [
  [],
  ['GET', '/api/channels'],
  ['GET', '/api/usage?by=project'],
  ['GET', '/api/agents/setup'],
  ['POST', '/api/agents'],
  ['POST', '/api/agents/claude/check'],
  ['POST', '/api/agents/claude/login'],
  ['GET', '/api/agents/claude/login'],
]

/** The texts of a state that are data: in its messages, in the answers of its hub, and typed by its steps. */
async function given({ messages, hub, path, query, does }: State): Promise<string[]> {
  const found: string[] = []
  const collect = (value: unknown): void => {
    if (typeof value === 'string')
      found.push(value, value.slice(0, 40)) // a name is cut there
    else if (value instanceof Error) found.push(value.message)
    else if (value instanceof Map || value instanceof Set) [...value].forEach(collect)
    else if (value && typeof value === 'object') {
      // Getters are not called, because in some states they throw.
      for (const [key, own] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
        collect(key)
        collect(own.value)
      }
    }
  }
  const nothing = () => new Promise((done) => setImmediate(done))
  collect([choices, messages, path, query, does])
  const ask = async (answers: unknown): Promise<void> => {
    for (const answer of Object.values(answers ?? {}) as unknown[]) {
      if (typeof answer !== 'function') continue
      for (const route of routes)
        await Promise.race([nothing(), new Promise((done) => done(answer(...route)))]).then(async (given) => {
          collect(given)
          await ask(given)
        }, collect)
    }
  }
  await ask(hub?.())
  return found
}

/** All texts and labels on screen. */
function texts(view: View): Promise<string[]> {
  return view.page.evaluate(() => {
    const labels = ['aria-label', 'aria-description', 'aria-roledescription', 'alt', 'placeholder', 'title']
    const all = [
      ...document.body.querySelectorAll<HTMLElement>(
        '*:not(script, style, code, kbd, pre, pre *, .prose :not([aria-label]))',
      ),
    ]
    return all.flatMap((e) => [
      ...labels.map((l) => e.getAttribute(l) ?? ''),
      ...[...e.childNodes].flatMap((n) => (n.nodeType === Node.TEXT_NODE ? [n.nodeValue!] : [])),
    ])
  })
}
