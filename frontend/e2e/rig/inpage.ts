// The script that is injected into every page before the app loads. It observes the page
// without any support from the app.

/** The observations of `watch` in a page. */
export interface Watched {
  /** The open WebSockets now, and the maximum at any time. */
  sockets: number
  most: number
  /** The seq of the oldest event that the document loaded first. */
  begun: number | undefined
  /** Violations of the content security policy: a sign that something was injected. */
  violations: string[]
  /** Calls from scripts that a hostile text managed to run. */
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
      /** Whether the document was last restored from the back/forward cache. */
      persisted?: boolean
    }
  }
}

/**
 * Runs in the page: what says "While you were away" stays, as it does under a pointer. It leaves by itself after 8 s,
 * which a busy machine may take to look at it.
 */
export function keepSummary(): void {
  new MutationObserver(() => {
    const summary = document.querySelector('[aria-label="While you were away"]')
    summary?.dispatchEvent(new PointerEvent('pointerenter'))
  }).observe(document, { childList: true, subtree: true })
}

/** Installed with addInitScript, so it must not use anything outside this function. */
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
      // The app no longer uses this socket, so it does not count. If the hub is gone, the
      // browser may fire the close event much later.
      rig.sockets.delete(this)
      super.close(code, reason)
    }
  }
}
