import { MediaQuery } from 'svelte/reactivity'
import type { Screens } from '../app.svelte'

/** A finger that goes up or down by more, in px, draws a question up or folds it. */
const drag = 24

/** The two heights of a question on a phone: folded, or drawn up over the screen. */
export class Heights {
  private readonly media = new MediaQuery('(max-width: 600px), (max-height: 500px)')
  private from = NaN

  constructor(private readonly app: Screens) {}

  get small(): boolean {
    return this.media.current
  }
  readonly drawn = $derived.by(() => this.small && this.app.overlay === 'question')

  /** It is on the screen already: no letters wait for it. */
  readonly draw = () => this.app.router.open('question')
  readonly fold = () => this.app.router.close('question')

  readonly touched = (event: TouchEvent) => {
    const held = (event.target as Element).closest('header, .gist')
    this.from = held ? event.touches[0]!.clientY : NaN
  }
  readonly letGo = ({ changedTouches: [touch] }: TouchEvent) => {
    const by = (touch?.clientY ?? NaN) - this.from
    if (this.small && !this.drawn && by < -drag) this.draw()
    else if (by > drag) this.fold()
  }

  /** While it is on screen: where a keyboard covers the page (iOS), the page ends above it. Returns its end. */
  readonly shown = () => {
    const seen = window.visualViewport
    const { style } = document.documentElement
    const fit = () => {
      const covered = seen !== null && seen.scale === 1 && seen.height < innerHeight - 1
      style.setProperty('--seen', covered ? `${seen.height}px` : '')
      if (covered) scrollTo(0, 0)
    }
    fit()
    seen?.addEventListener('resize', fit)
    return () => {
      seen?.removeEventListener('resize', fit)
      style.removeProperty('--seen')
      this.fold()
    }
  }
}
