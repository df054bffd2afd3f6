export type Route =
  | { screen: 'sessions' }
  | { screen: 'session'; id: string; seq: number | null }
  | { screen: 'settings' }
  | { screen: 'unknown' }

export function parseRoute(path: string, query: string): Route {
  const session = /^\/s\/([\w-]+)\/?$/.exec(path)
  if (session?.[1]) {
    const seq = Number(new URLSearchParams(query).get('seq'))
    return { screen: 'session', id: session[1], seq: Number.isSafeInteger(seq) && seq > 0 ? seq : null }
  }
  if (path === '/' || path === '') return { screen: 'sessions' }
  if (path === '/settings') return { screen: 'settings' }
  return { screen: 'unknown' }
}

/** The address bar: every screen has an address, and back goes back. */
export class Router {
  route: Route = $state.raw(parseRoute(location.pathname, location.search))
  /** Whether going back stays in the app. */
  private depth = 0

  constructor() {
    addEventListener('popstate', () => {
      this.depth = Math.max(0, this.depth - 1)
      this.read()
    })
    document.addEventListener('click', (click) => this.follow(click))
  }

  go(path: string, replace = false): void {
    if (replace) history.replaceState(null, '', path)
    else {
      history.pushState(null, '', path)
      this.depth++
    }
    this.read()
  }

  /** One screen up; by history where the app opened the screen, so that back and up agree. */
  up(): void {
    if (this.depth > 0) history.back()
    else this.go('/', true)
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
