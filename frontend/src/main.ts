import { mount } from 'svelte'
import { hubAPI } from './net/api'
import { EventCache } from './net/cache'
import { ChosenDB, chosenLayout } from './net/chosenfiles'
import { Database } from './net/db'
import { Hub } from './net/hub'
import { Journal } from './net/journal'
import { KeptList } from './net/keptlist'
import { Marks } from './net/marks'
import { OutboxDB } from './net/outboxdb'
import { PageKey, pageLayout } from './net/page'
import type { Shell } from './net/shell'
import { deviceStorage } from './net/storage'
import { newest } from './state/read'
import { Store } from './state/store'
import App from './ui/App.svelte'
import { Screens } from './ui/app.svelte'
import './ui/theme.css'
import './ui/looks.css'
import { calmed } from './ui/calm'
import { loadSession } from './ui/lazy'
import { parseRoute } from './ui/router.svelte'

const store = new Store()
const db = new Database()
const storage = deviceStorage()
const cache = new EventCache(db, storage)
const kept = new OutboxDB(db, crypto.randomUUID(), navigator.locks, new Journal(storage))
const page = new PageKey(storage, new Database('abide-page', pageLayout))
const api = hubAPI(page)
const marks = new Marks(storage)
const keptList = new KeptList(storage)
const hub = new Hub(
  store,
  api,
  page,
  kept,
  cache,
  () => {
    keptList.wipe()
    void cache.wipe()
  },
  storage,
)
void hub.takeUp()

/** The data that must outlive a killed tab. */
function keep(leaving: boolean, visible = document.visibilityState === 'visible'): void {
  marks.note(store.state, Date.now(), visible ? hub.shown : null)
  marks.flush(leaving)
  if (store.state.link.phase === 'open') keptList.write(store.state.list)
}

setInterval(() => keep(false), 1000)
addEventListener('pagehide', () => keep(true))
document.addEventListener('visibilitychange', () => {
  const hidden = document.visibilityState === 'hidden'
  keep(hidden, true) // the person saw the session until now
  hub.attention.now()
  if (hidden) void cache.flush()
})

// A part did not come. Only where the hub lacks this file too, which has the same version as the
// others, was it updated under the page; else it was the network.
addEventListener('vite:preloadError', () => {
  void fetch(import.meta.url, { method: 'HEAD', cache: 'no-store' })
    .then(({ status }) => status === 404 && store.dispatch({ kind: 'skew' }))
    .catch(() => {})
})

// The code of the screen in the address loads beside the dial, not after it.
const route = parseRoute(location.pathname, location.search)
const opens = route.screen === 'session'
const needed = opens ? [loadSession()] : []

/**
 * The service worker, which keeps the app's own files on the device. It fetches all of them, and so
 * starts after the screen's own requests.
 */
let shell: Promise<Shell> | undefined
const keepShell = () =>
  (shell ??= import('./net/shell').then(async ({ Shell }) => {
    const made = new Shell()
    made.opened((path) => screens.router.go(path))
    if (import.meta.env.PROD) await made.register(() => store.dispatch({ kind: 'skew' }))
    return made
  }))
const reload = () =>
  void keepShell().then(
    (made) => made.update(),
    () => location.reload(),
  )

const read = {
  left: (id: string) => newest(marks.left(id), store.state.list?.get(id), Date.now()),
}
const chosen = new ChosenDB(new Database('abide-files', chosenLayout))
const listed = store.subscribe(() => {
  const { list, listed: asked, listError } = store.state
  if (!asked || !list || listError !== null) return
  listed()
  void chosen.sweep((id) => (list.has(id) ? Promise.resolve(false) : api.gone(id)))
})
const screens = new Screens(store, hub, read, reload, chosen)
screens.framed = false
/** Longer than this a screen's parts are not waited for: the rest of the app says how it is connected. */
const partsMs = 3_000
/** How long the network is left to the first screen. */
const shellMs = 3_000
// The page's first words stay until there is a screen to take their place; a failed load is shown
// there.
void Promise.race([Promise.allSettled(needed), new Promise((late) => setTimeout(late, partsMs))]).then(() => {
  const target = document.getElementById('app')!
  target.replaceChildren()
  setTimeout(calmed, opens ? partsMs : 0)
  mount(App, { target, props: { screens } })
  setTimeout(() => void keepShell().catch(() => {}), shellMs)
})

// A pairing link in the address of a page that is open already begins no other by itself.
addEventListener('hashchange', () => location.hash.startsWith('#pair=') && location.reload())
const code = /^#pair=([\w-]+)$/.exec(location.hash)?.[1]
if (code) {
  history.replaceState(null, '', location.pathname + location.search)
  hub.pair(code).then(begin, (error: Error) => {
    store.dispatch({ kind: 'problem', text: t`Pairing failed: ${error.message}` })
    begin()
  })
} else {
  begin()
}

function begin(): void {
  const last = keptList.read()
  if (last?.length) store.dispatch({ kind: 'listed', sessions: last })
  // The session in the address is followed by the first dial, with no other trip before it.
  if (route.screen === 'session') hub.follow(route.id)
  hub.connection.start()
  const sweep = () => void hub.outbox.load().catch(() => {})
  sweep() // items that this very tab left when it was reloaded must not wait for another tab
  kept.whenSweeper(() => setInterval(sweep, 30_000))
}
