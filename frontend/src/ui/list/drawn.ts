import type { Screens } from '../app.svelte'

/** A finger draws a row to the left to archive it, to the right to pin it. */
export function drawn(list: HTMLElement, app: Screens): { destroy(): void } | undefined {
  if (!matchMedia('(pointer: coarse)').matches) return
  let end: (() => void) | undefined
  let over = false
  void import('./acts')
    .then(({ swipes, Deeds }) => {
      if (over) return
      const deeds = new Deeds(app)
      end = swipes(list, (id, way) => {
        const session = app.state.list?.get(id)
        if (session) void (way === 'left' ? deeds.archive([session]) : deeds.pin(session))
      })
    })
    .catch(() => {}) // the menu does the same
  return {
    destroy() {
      over = true
      end?.()
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
