// What runs inside every page before the app does. It watches from outside: the
// app does not know it is there.

/** What `watch` gathers in a page. */
export interface Watched {
  /** Sockets that exist now and the most that existed at once. */
  sockets: number
  most: number
  /** The oldest event that the document held at first. */
  begun: number | undefined
  /** Refusals of the content policy: a sign that something was injected. */
  violations: string[]
  /** Scripts that a hostile text managed to run. */
  ran: string[]
}

declare global {
  interface Window {
    rig: {
      read(): Watched
      ran: string[]
      sockets: Set<WebSocket>
      most: number
      begun: number | undefined
      violations: string[]
      /** Whether the document last came back from the browser's own cache of pages. */
      persisted?: boolean
    }
  }
}

/** Installed with addInitScript, so it must not refer to anything outside itself. */
export function watch(): void {
  const rig: Window['rig'] = {
    ran: [],
    sockets: new Set(),
    most: 0,
    begun: undefined,
    violations: [],
    read: () => ({
      sockets: rig.sockets.size,
      most: rig.most,
      begun: rig.begun,
      violations: rig.violations,
      ran: rig.ran,
    }),
  }
  window.rig = rig
  addEventListener('securitypolicyviolation', (v) =>
    rig.violations.push(`${v.effectiveDirective} ${v.blockedURI} ${v.sample}`),
  )
  new MutationObserver((_, watching) => {
    const first = Number(document.documentElement.dataset['firstSeq'])
    if (!first) return
    rig.begun = first
    watching.disconnect()
  }).observe(document, { attributes: true, attributeFilter: ['data-first-seq'], subtree: true })
  const Native = WebSocket
  window.WebSocket = class extends Native {
    constructor(url: string | URL, protocols?: string | string[]) {
      super(url, protocols)
      rig.sockets.add(this)
      rig.most = Math.max(rig.most, rig.sockets.size)
      this.addEventListener('close', () => rig.sockets.delete(this))
    }
    override close(code?: number, reason?: string): void {
      // The other side may be gone: the browser keeps a closing socket for as
      // long as it likes, but the app has let go of it.
      rig.sockets.delete(this)
      super.close(code, reason)
    }
  }
}
