import type { Screens } from '../app.svelte'
import type { Steady } from './steady.svelte'

interface Touched {
  app: Screens
  /** Takes what keeps rows in their places under a finger. */
  steady: (keep: Steady['keep']) => void
}

/** By touch, rows can be drawn aside, and stay where they are while a finger is on them. */
export function drawn(list: HTMLElement, { app, steady }: Touched): { destroy(): void } | undefined {
  if (!matchMedia('(pointer: coarse)').matches) return
  let ends: (() => void)[] = []
  let over = false
  void import('./acts')
    .then(({ swiping, Steady }) => {
      if (over) return
      const rows = new Steady()
      steady(rows.keep)
      ends = [swiping(list, app), rows.attach(list)]
    })
    .catch(() => {}) // the menu does the same
  return {
    destroy() {
      over = true
      for (const end of ends) end()
    },
  }
}

/** Files that are dropped on the list are imported. */
export function dropped(list: HTMLElement, app: Screens): void {
  list.ondragover = (event) => {
    if (!event.dataTransfer?.types.includes('Files')) return
    event.preventDefault()
    list.dataset['over'] = ''
  }
  list.ondragleave = () => void delete list.dataset['over']
  list.ondrop = (event) => {
    delete list.dataset['over']
    const files = [...(event.dataTransfer?.files ?? [])]
    if (files.length === 0) return
    event.preventDefault()
    void import('./acts').then(({ bring }) => bring(app, files))
  }
}
