// The catalogue: every state in a frame of its own, at two sizes. One state
// alone is catalogue.html?state=NAME, which is what a test would look at.
import { flushSync, mount } from 'svelte'
import type { Intents } from '../../src/state/intents'
import { Store } from '../../src/state/store'
import App from '../../src/ui/App.svelte'
import { Screens } from '../../src/ui/app.svelte'
import { parseRoute } from '../../src/ui/router.svelte'
import '../../src/ui/theme.css'
import '../../src/ui/prose.css'
import { stateOf, states, type State } from './states'

const choices = { agents: [{ name: 'demo' }], workspaces: ['/src'], defaultWorkspace: '/src' }

/** A hub that does nothing, and answers what a screen needs to be shown. */
function hubOf(state: State): Intents {
  const answers = [...(state.search?.answers ?? [])]
  const search = async () => {
    const answer = answers.shift() ?? null
    if (answer === null) return new Promise(() => {})
    if ('problem' in answer) throw new Error(answer.problem)
    return answer
  }
  return new Proxy({} as Intents, {
    get: (_, name) =>
      name === 'choices' ? async () => choices : name === 'search' ? search : async () => {},
  })
}

const target = document.getElementById('app')!
const wanted = states.find((s) => s.name === new URLSearchParams(location.search).get('state'))
if (wanted) show(wanted)
else index()

function show(state: State): void {
  const screens = new Screens(new Store(stateOf(state)), hubOf(state), { left: () => null })
  screens.router.route = parseRoute(state.path, '')
  screens.overlay = state.overlay ?? null
  mount(App, { target, props: { screens } })
  if (state.search) {
    flushSync()
    const field = document.querySelector<HTMLInputElement>('[data-search]')!
    field.value = state.search.words
    field.dispatchEvent(new InputEvent('input', { bubbles: true }))
  }
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
