import { mount } from 'svelte'
import { Hub } from './net/hub'
import { Marks } from './net/marks'
import { MemoryStorage, Outbox } from './net/outbox'
import { Store } from './state/store'
import App from './ui/App.svelte'
import { Screens } from './ui/app.svelte'
import './ui/theme.css'
import './ui/prose.css'
import { loadMarkdown, loadSession } from './ui/lazy'
import { parseRoute } from './ui/router.svelte'

const store = new Store()
const hub = new Hub(store)
const outbox = new Outbox(new MemoryStorage(), hub.requests, store.dispatch, hub.send)
const marks = new Marks(localStorage)

setInterval(() => {
  marks.note(store.state, Date.now())
  marks.flush()
}, 1000)
for (const event of ['visibilitychange', 'pagehide']) {
  addEventListener(
    event,
    () => {
      marks.note(store.state, Date.now())
      marks.flush()
    },
    { capture: true },
  )
}

// A chunk of the page's own version is gone: the hub was updated under it.
addEventListener('vite:preloadError', () => store.dispatch({ kind: 'skew' }))

// What the screen in the address needs loads beside the dial, not after it.
if (parseRoute(location.pathname, location.search).screen === 'session') {
  void loadSession().catch(() => {})
  void loadMarkdown().catch(() => {})
}

const screens = new Screens(store, hub)
mount(App, { target: document.getElementById('app')!, props: { screens } })

const code = /^#pair=([\w-]+)$/.exec(location.hash)?.[1]
if (code) {
  history.replaceState(null, '', location.pathname + location.search)
  hub.pair(code).then(
    () => begin(),
    (error: Error) => {
      store.dispatch({ kind: 'problem', text: `This pairing link did not work: ${error.message}` })
      begin()
    },
  )
} else {
  begin()
}

function begin(): void {
  // The session in the address is followed by the first dial, with no other trip before it.
  const route = parseRoute(location.pathname, location.search)
  if (route.screen === 'session') hub.follow(route.id)
  hub.start(outbox)
  void outbox.load()
}
