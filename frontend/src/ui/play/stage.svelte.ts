import { untrack } from 'svelte'
import type { Screens } from '../app.svelte'
import type { SessionView } from '../session/view.svelte'
import type { Deck } from './deck.svelte'

/**
 * The parts that a screen keeps in step with its player: the address, and the context of the feed's
 * rows. Made while a component is.
 */
export class Stage {
  /** Questions that wait at the place, and the turn that goes on there; -1 while none does. */
  readonly open = $derived.by(() => {
    const ask: { key: string; title: string }[] = []
    let going = -1
    for (const item of this.deck.feed.items) {
      if (item.kind === 'prompt') going = item.turn
      else if (item.kind === 'turn_end') going = -1
      else if (item.kind === 'permission' && item.ask && !item.outcome)
        ask.push({ key: item.key, title: item.ask.title })
    }
    return { ask, going }
  })

  constructor(
    app: Screens,
    view: SessionView,
    path: string,
    seq: () => number | null,
    readonly deck: Deck,
  ) {
    $effect(() => {
      view.feed = deck.feed
      view.workspace = app.state.list?.get(view.id)?.workspace ?? ''
      view.running = this.open.going >= 0
      view.turn = this.open.going
    })
    /** The place that the address names: a link someone follows here goes to it. */
    let written = untrack(seq)
    $effect(() => {
      const to = seq()
      untrack(() => {
        if (to === written || to === null) return
        written = to
        deck.pause()
        void deck.seek(to)
      })
    })
    $effect(() => {
      const place = deck.live ? null : deck.seq
      if (deck.playing || deck.overview === null || app.overlay) return
      const timer = setTimeout(() => {
        if (place === written || app.overlay) return
        written = place
        app.router.go(place === null ? path : `${path}?seq=${place}`, true)
      }, 400)
      return () => clearTimeout(timer)
    })
  }
}
