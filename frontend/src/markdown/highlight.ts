import workerURL from './highlight.worker?worker&url'
import type { Token } from './tokens'
import { sanitise } from './sanitise'

/** Code longer than this stays plain: colour is not worth the wait. */
const longest = 60_000

interface Done {
  id: number
  html: string | null
  tokens: Token[] | null
}

let worker: Worker | null | undefined
let count = 0
const waiting = new Map<number, (done: Done) => void>()

/** Colours a code block in the background; it is readable all the while. */
export async function highlight(code: HTMLElement): Promise<void> {
  const language = /language-([\w+#-]+)/.exec(code.className)?.[1]
  const text = code.textContent ?? ''
  if (!language || text.length > longest) return
  const to = await wanted(code)
  if (!to || code.textContent !== text) return
  const id = ++count
  waiting.set(id, ({ html }) => {
    if (html !== null && code.textContent === text) code.replaceChildren(sanitise(html))
  })
  to.postMessage({ id, language, text })
}

/**
 * Returns the highlighted parts of a text that `at` shows; empty if the text is long, its language unknown, or
 * nothing shows it any more. Never rejects.
 */
export async function tokensOf(language: string, text: string, at: Element | undefined): Promise<Token[]> {
  const to = language && text.length <= longest ? await wanted(at) : null
  if (!to) return []
  const id = ++count
  return new Promise((resolve) => {
    waiting.set(id, ({ tokens }) => resolve(tokens ?? []))
    to.postMessage({ id, language, text, tokens: true })
  })
}

/** The worker, which is large: it is loaded once code is in view and the page has nothing else to do. */
async function wanted(by: Element | undefined): Promise<Worker | null> {
  if (worker === undefined) {
    if (!by) return null // it left the page meanwhile
    await inView(by)
    await idle()
  }
  return start()
}

function inView(element: Element): Promise<void> {
  return new Promise((resolve) => {
    if (!globalThis.IntersectionObserver) return resolve()
    const sight = new IntersectionObserver((seen) => {
      if (!seen.at(-1)!.isIntersecting) return
      sight.disconnect()
      resolve()
    })
    sight.observe(element)
  })
}

/** Safari has no requestIdleCallback. */
const idle = () =>
  new Promise<void>((resolve) =>
    'requestIdleCallback' in globalThis
      ? requestIdleCallback(() => resolve(), { timeout: 2_000 })
      : setTimeout(resolve, 300),
  )

function start(): Worker | null {
  if (worker !== undefined) return worker
  try {
    worker = new Worker(trusted(workerURL), { type: 'module' })
    worker.onmessage = ({ data }: MessageEvent<Done>) => {
      waiting.get(data.id)?.(data)
      waiting.delete(data.id)
    }
    worker.onerror = () => {
      for (const [id, done] of waiting) done({ id, html: null, tokens: null })
      waiting.clear()
    }
  } catch {
    worker = null
  }
  return worker
}

interface Policies {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): string }
}

/** The page accepts script addresses only from a policy; this one knows a single address. */
function trusted(url: string): string {
  const policies = (globalThis as { trustedTypes?: Policies }).trustedTypes
  if (!policies) return url
  const policy = policies.createPolicy('abide-worker', {
    createScriptURL(asked) {
      if (asked !== workerURL) throw new TypeError(`not the highlighter: ${asked}`)
      return asked
    },
  })
  return policy.createScriptURL(url)
}
