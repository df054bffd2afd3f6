import workerURL from './highlight.worker?worker&url'
import { sanitise } from './sanitise'

/** Code longer than this stays plain: colour is not worth the wait. */
const longest = 60_000

interface Done {
  id: number
  html: string | null
}

let worker: Worker | null | undefined
let count = 0
const waiting = new Map<number, (html: string | null) => void>()

/** Colours a code block in the background; it is readable all the while. */
export function highlight(code: HTMLElement): void {
  const language = /language-([\w+#-]+)/.exec(code.className)?.[1]
  const text = code.textContent ?? ''
  if (!language || text.length > longest) return
  const to = start()
  if (!to) return
  const id = ++count
  waiting.set(id, (html) => {
    if (html !== null && code.textContent === text) code.replaceChildren(sanitise(html))
  })
  to.postMessage({ id, language, text })
}

function start(): Worker | null {
  if (worker !== undefined) return worker
  try {
    worker = new Worker(trusted(workerURL), { type: 'module' })
    worker.onmessage = ({ data }: MessageEvent<Done>) => {
      waiting.get(data.id)?.(data.html)
      waiting.delete(data.id)
    }
    worker.onerror = () => waiting.clear()
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
