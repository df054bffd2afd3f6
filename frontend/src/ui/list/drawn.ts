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
