export type Route =
  | { screen: 'sessions' }
  | { screen: 'session'; id: string; seq: number | null }
  | { screen: 'plain'; id: string; page: number | null }
  | { screen: 'play' | 'review'; id: string; seq: number | null }
  | { screen: 'files'; id: string; path: string }
  | { screen: 'attempts'; id: string }
  | { screen: 'settings' | 'jobs' | 'usage' }
  | { screen: 'unknown' }

export function parseRoute(path: string, query: string): Route {
  const [, id, view] = /^\/s\/([\w-]+)(?:\/(plain|play|review|files))?\/?$/.exec(path) ?? []
  if (id && view === 'plain') return { screen: view, id, page: whole(query, 'page') }
  if (id && (view === 'play' || view === 'review')) return { screen: view, id, seq: whole(query, 'seq') }
  if (id && view === 'files') return { screen: view, id, path: new URLSearchParams(query).get('path') ?? '' }
  if (id) return { screen: 'session', id, seq: whole(query, 'seq') }
  if (path === '/' || path === '') return { screen: 'sessions' }
  const [, plain] = /^\/(settings|jobs|usage)$/.exec(path) ?? []
  if (plain) return { screen: plain as 'usage' }
  const [, job] = /^\/jobs\/([\w-]+)\/?$/.exec(path) ?? []
  if (job) return { screen: 'attempts', id: job }
  return { screen: 'unknown' }
}

/** A number from 1 on that the address names. */
function whole(query: string, name: string): number | null {
  const number = Number(new URLSearchParams(query).get(name))
  return Number.isSafeInteger(number) && number > 0 ? number : null
}

/**
 * The overlays of a screen: dialogs, the session's menu, and its details where they have no room
 * beside it.
 */
export type Over =
  | 'palette'
  | 'help'
  | 'new_session'
  | 'new_job'
  | 'rules'
  | 'agent'
  | 'export'
  | 'fork'
  | 'copy'
  | 'schedule'
  | 'background'
  | 'menu'
  | 'details'
  | 'question'
  | 'options'

/** The state of a history entry beside its address. */
interface Entry {
  /** How many entries before it are the app's own. */
  depth: number
  over: Over | null
}

/** The address bar: every screen has an address, and back goes back, first from an overlay. */
export class Router {
  route: Route = $state.raw(parseRoute(location.pathname, location.search))
  /** The overlay: a history entry of its own, and never over another session. */
  over: Over | null = $state(null)
  private depth = 0
  /** While the entry of a closed overlay is still being left: the step to do after. */
  private waiting: (() => void)[] | null = null

  constructor() {
    this.take(history.state as Entry | null)
    addEventListener('popstate', (event) => {
      this.take(event.state as Entry | null)
      this.read()
      const waiting = this.waiting ?? []
      this.waiting = null
      for (const act of waiting) act()
    })
    document.addEventListener('click', (click) => this.follow(click))
  }

  go(path: string, replace = false): void {
    this.settled(() => {
      // The overlay's entry becomes the next screen's.
      this.put(path, null, replace || this.over !== null)
      this.read()
    })
  }

  /** One screen up; by history where the app opened the screen, so that back and up agree. */
  up(): void {
    this.settled(() => {
      if (this.depth > 0) history.back()
      else this.go('/', true)
    })
  }

  /** Opens an overlay, in the place of the present one. */
  open(over: Over): void {
    this.settled(() => this.put(location.pathname + location.search, over, this.over !== null))
  }

  /** Closes the overlay if it is this one. */
  close(over: Over): void {
    if (this.over !== over) return
    this.over = null
    this.waiting = []
    history.back()
  }

  private settled(act: () => void): void {
    if (this.waiting) this.waiting.push(() => this.settled(act))
    else act()
  }

  private put(path: string, over: Over | null, replace: boolean): void {
    const entry: Entry = { depth: this.depth + (replace ? 0 : 1), over }
    if (replace) history.replaceState(entry, '', path)
    else history.pushState(entry, '', path)
    this.take(entry)
  }

  private take(entry: Entry | null): void {
    this.depth = entry?.depth ?? 0
    this.over = entry?.over ?? null
  }

  private read(): void {
    this.route = parseRoute(location.pathname, location.search)
  }

  private follow(click: MouseEvent): void {
    if (click.defaultPrevented || click.button !== 0 || click.metaKey || click.ctrlKey || click.shiftKey)
      return
    const link = (click.target as Element | null)?.closest('a')
    if (!link || link.target !== '' || link.origin !== location.origin || link.hasAttribute('download'))
      return
    if (link.pathname.startsWith('/api/')) return
    click.preventDefault()
    this.go(link.pathname + link.search)
  }
}
