// The catalogue page: every state in an iframe of its own, at two sizes. The tests open
// one state as catalogue.html?state=NAME. The root element has data-shown when the steps
// of the state are done. `showState(NAME)` shows another state in the same page.
import { mount, unmount } from 'svelte'
import type { Intents } from '../../src/state/intents'
import { Store } from '../../src/state/store'
import App from '../../src/ui/App.svelte'
import { Screens } from '../../src/ui/app.svelte'
import * as lazy from '../../src/ui/lazy'
import { calmed } from '../../src/ui/calm'
import { loadBodies, loadJson, loadLarge, loadLargeDiff } from '../../src/ui/feed/body'
import { loadAsked } from '../../src/ui/session/asking'
import * as rarely from '../../src/ui/session/rarely'
import { parseRoute } from '../../src/ui/router.svelte'
import '../../src/ui/theme.css'
import '../../src/ui/looks.css'
import { painted, play } from './play'
import { choices, overview } from './state'
import { stateOf, states, type State } from './states'

/** A hub with the answers of the state and no channels; every other method resolves to undefined. */
function hubOf(state: State): Intents {
  const answers: Partial<Intents> = {
    choices: async () => choices,
    devices: async () => [],
    overview: async () => overview,
    ask: async (_: string, path: string) =>
      (path === '/api/channels'
        ? { channels: [] }
        : path === '/api/schedules'
          ? { schedules: [] }
          : undefined) as never,
    ...state.hub?.(),
  }
  return new Proxy(answers as Intents, {
    get: (hub, name) => Reflect.get(hub, name) ?? (async () => {}),
  })
}

const target = document.getElementById('app')!
const named = (name: string | null) => states.find((s) => s.name === name)
const wanted = named(new URLSearchParams(location.search).get('state'))
let app: Record<string, unknown> | undefined
Object.assign(window, { showState: (name: string) => show(named(name)!) })
if (wanted) void parts().then(() => show(wanted))
else index()

/** Loads the app's lazy chunks first, so that no state depends on how long they take. */
async function parts(): Promise<void> {
  const { markdown, speech, comparing: _, ...others } = lazy
  const loads: (() => Promise<unknown>)[] = [
    ...Object.values(others),
    ...Object.values(rarely),
    loadBodies,
    loadJson,
    loadLarge,
    loadLargeDiff,
    loadAsked,
  ]
  calmed()
  await Promise.all([markdown.load(), speech.load(), ...loads.map((load) => load())])
}

async function show(state: State): Promise<void> {
  if (app) await unmount(app)
  app = undefined
  localStorage.clear() // states do not affect each other
  const left = (id: string) => state.left?.[id] ?? null
  const screens = new Screens(new Store(stateOf(state)), hubOf(state), { left })
  screens.router.route = parseRoute(state.path, state.query ?? '')
  screens.router.over = state.overlay ?? null
  app = mount(App, { target, props: { screens } })
  await play(state.does ?? [])
  await painted()
  document.documentElement.dataset['shown'] = state.name
}

function index(): void {
  for (const state of states) {
    const title = document.createElement('h2')
    title.textContent = state.name
    target.append(title)
    for (const [width, height] of [
      [390, 700],
      [1280, 700],
    ]) {
      const frame = document.createElement('iframe')
      frame.loading = 'lazy'
      frame.width = String(width)
      frame.height = String(height)
      frame.src = `?state=${encodeURIComponent(state.name)}`
      target.append(frame)
    }
  }
}
