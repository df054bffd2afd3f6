/** The one script the page may register as its service worker. */
const script = '/sw.js'
/** How long to wait for the new version before the page is loaded anyway. */
const patienceMs = 4_000

/**
 * The app's own files, kept by a service worker so that it opens without a
 * network. A new version waits until a person asks for it.
 */
export class Shell {
  private registration: ServiceWorkerRegistration | null = null

  /** Registers the worker, where the browser has such; `ready` is called when a new version waits. */
  async register(ready: () => void): Promise<void> {
    if (!('serviceWorker' in navigator) || !isSecureContext) return
    try {
      if (await leaveOthers()) return location.reload()
      const made = await navigator.serviceWorker.register(trusted(script))
      this.registration = made
      const look = () => {
        // Without a controller this is the first visit: nothing is replaced.
        if (made.waiting && navigator.serviceWorker.controller) ready()
      }
      look()
      made.addEventListener('updatefound', () => made.installing?.addEventListener('statechange', look))
    } catch {
      // Without a service worker the app works, but does not open offline.
    }
  }

  /** Calls `go` with the address that a notification was clicked for. */
  opened(go: (path: string) => void): void {
    navigator.serviceWorker?.addEventListener('message', ({ data }) => {
      const path = (data as { open?: unknown } | null)?.open
      if (typeof path === 'string' && /^\/(s\/[\w-]+\?seq=\d+|settings)$/.test(path)) go(path)
    })
  }

  /** Asks the hub whether there is a newer version. */
  check(): void {
    void this.registration?.update().catch(() => {})
  }

  /** Goes over to the newest version and loads the page anew. */
  async update(): Promise<void> {
    const { registration } = this
    if (registration) {
      await Promise.race([this.takeOver(registration), new Promise((done) => setTimeout(done, patienceMs))])
    }
    location.reload()
  }

  private async takeOver(registration: ServiceWorkerRegistration): Promise<void> {
    await registration.update().catch(() => {})
    const next = registration.waiting ?? registration.installing
    if (!next) return
    const controlled = new Promise((done) =>
      navigator.serviceWorker.addEventListener('controllerchange', done, { once: true }),
    )
    const skip = () => next.state === 'installed' && next.postMessage('update')
    next.addEventListener('statechange', skip)
    skip()
    await controlled
  }
}

/**
 * Unregisters every service worker that is not the app's: another program registered it while it had
 * the hub's address. True if one of them is in charge of this page.
 */
async function leaveOthers(): Promise<boolean> {
  const own = (worker: ServiceWorker | null) => !worker || worker.scriptURL === location.origin + script
  const charge = !own(navigator.serviceWorker.controller)
  for (const made of await navigator.serviceWorker.getRegistrations()) {
    const workers = [made.active, made.waiting, made.installing]
    if (made.scope === `${location.origin}/` && workers.every(own)) continue
    await made.unregister()
  }
  return charge
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
  return policies
    .createPolicy('abide-shell', {
      createScriptURL(asked) {
        if (asked !== script) throw new TypeError(`not the service worker: ${asked}`)
        return asked
      },
    })
    .createScriptURL(url)
}
