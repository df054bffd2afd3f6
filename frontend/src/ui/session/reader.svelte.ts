import { tick, untrack } from 'svelte'
import type { Row } from '../../state/rows'
import type { Anchor, Range } from '../../virtual/window'
import { Resized } from '../parts/resized'
import { Hand } from './hand'
import { RowHeights } from './rowheights'

/** Rows kept in the page above and below the view, in px. */
const margin = 700
/** Keys that scroll. */
const scrolling = ['ArrowUp', 'ArrowDown', 'PageUp', 'PageDown', 'Home', 'End', ' ']
/** Nearer to the end than this counts as at the end. */
const near = 24

/**
 * Where a person is in a feed. At the end they follow it: new rows keep the end in view. Anywhere
 * else no change around them moves the text in view.
 */
export class Reader {
  following = $state(true)
  /** Whether the last row is wholly in view, also where a person stays at a row and follows nothing. */
  atEnd = $state(true)
  /** The height of the content before the rows, in px. */
  readonly lead = 44
  readonly heights = new RowHeights(
    ({ key, by }) => {
      // The text in view keeps its distance from the row's end; a place in the row is found anew.
      if (this.anchor?.key === key && (!this.share || this.anchor !== this.aim))
        this.anchor = { key, offset: this.anchor.offset - by }
    },
    () => this.settle(),
  )
  private top = $state(0)
  private view = $state(0)
  private version = $state(0)
  private scroller: HTMLElement | null = null
  private anchor: Anchor | null = null
  /** Where they were taken: the content above it is still to be measured. */
  private aim: Anchor | null = null
  /** How far down its row the place is that they were taken to, from 0 to 1: less or more as the row gets its parts. */
  private share: (() => number) | null = null
  private placed = 0
  /** The heights of the feed and of its view when the reader was last placed. */
  private height = 0
  private room = 0
  private readonly moving = new Hand()
  /** The end of the rows is not the end of the session: nothing there to follow. */
  away = false
  /** They are being put somewhere: scroll events on the way are not theirs. */
  private placing = false

  /** Whether the rows are too few to scroll. */
  get short(): boolean {
    return this.heights.total < this.view
  }

  /** The row at the top of the view. */
  get key(): string | undefined {
    return this.anchor?.key
  }

  /** Where they are: that row, and how far below the top of the view it begins. */
  get at(): Anchor | null {
    return this.anchor
  }

  /** The rows to have in the page; reactive. */
  range(rows: readonly Row[]): Range {
    void this.version
    this.heights.sync(rows)
    return this.heights.range(this.begin, this.view, margin)
  }

  /** The keys of the rows at the top and the bottom of the view, none where there are no rows; reactive. */
  get inView(): string[] {
    void this.version
    return [this.begin, this.begin + this.view].flatMap((at) => this.heights.anchorAt(at)?.key ?? [])
  }

  /** Where the view begins among the rows, in px. */
  private get begin(): number {
    // A follower is at the end, even if a row of another height than assumed moves the view for a
    // moment.
    if (this.following) return this.heights.total - this.view
    // Rows added above the text in view move it before the scroll position follows: the text must
    // stay in the page.
    const { top } = this
    return (this.anchor && this.heights.topOf(this.anchor)) ?? top - this.lead
  }

  /** Takes the element that scrolls; an action. */
  attach = (scroller: HTMLElement) => {
    this.scroller = scroller
    const resized = new Resized(() => {
      this.view = scroller.clientHeight
      this.settle()
    })
    resized.observe(scroller)
    return {
      destroy: () => {
        resized.disconnect()
        this.heights.stop()
        this.scroller = null
      },
    }
  }

  /** Puts the reader back where they were, after something around them changed. */
  place = () => {
    const { scroller } = this
    if (!scroller) return
    this.notice(scroller)
    this.placing = false
    this.keepAim()
    const wanted = this.following ? end(scroller) : this.anchor && this.heights.topOf(this.anchor)
    if (wanted === null) return
    const at = this.following ? wanted : wanted + this.lead
    if (Math.abs(scroller.scrollTop - at) > 0.5) scroller.scrollTop = at
    this.top = this.placed = scroller.scrollTop
    this.height = scroller.scrollHeight
    this.room = scroller.clientHeight
    this.atEnd = end(scroller) - this.top < near
  }

  /** Recognises a move before its scroll event comes, so that it is not undone. */
  private notice(scroller: HTMLElement): void {
    const moved = scroller.scrollTop - this.top
    if (this.placing || Math.abs(moved) < 1 || this.cut(scroller)) return
    if (this.following) {
      if (moved > -near || this.shifted(scroller)) return
      this.following = false
      this.anchor = this.heights.anchorAt(scroller.scrollTop - this.lead)
    } else if (this.anchor) this.anchor = { ...this.anchor, offset: this.anchor.offset - moved }
  }

  /**
   * Whether the end has moved since the reader was put there: a feed or a foot of another height. A
   * view that was lower for a moment may be higher by now; the browser has cut the position
   * meanwhile, and that is not the reader. Their hand is known without this.
   */
  private shifted(scroller: HTMLElement): boolean {
    return scroller.scrollHeight !== this.height || scroller.clientHeight !== this.room
  }

  /** They follow the end no more, and stay where they are. */
  stay(): void {
    if (!this.following) return
    this.following = false
    // The rows may have changed since the last scroll event.
    if (this.scroller) this.anchor = this.heights.anchorAt(this.scroller.scrollTop - this.lead)
  }

  toEnd = () => {
    this.moving.up = false
    this.following = true
    this.place()
  }

  /**
   * Puts a row near the top of the view, or as far below it as they had it. In a row higher than
   * the view, the place at that `share` of its height.
   */
  toRow(key: string, offset = 60, share: (() => number) | null = null): void {
    this.following = false
    this.moving.up = this.placing = true
    this.aim = this.anchor = { key, offset }
    this.share = offset === 60 ? share : null
    this.settle()
  }

  /** The words of a row may take a while to be in the page. Until they move, the place they were taken to stays in view. */
  private keepAim(): void {
    const { aim, share } = this
    if (!aim || this.anchor !== aim || !share) return
    const height = this.heights.height(aim.key)
    const down = height > this.view ? untrack(share) * height : 0
    this.aim = this.anchor = { key: aim.key, offset: 60 - down }
  }

  /** Whether the browser cut the position because rows that a jump brought in are low until they have their words. */
  private cut(scroller: HTMLElement): boolean {
    return this.aim !== null && this.anchor === this.aim && this.shifted(scroller)
  }

  /** The row that is given the focus within the next two frames; the next step goes from there. */
  focusing: string | undefined

  /** Gives a row the focus and brings it into view. Its row may take some frames to be in the page: it is tried `tries` times. */
  focus(key: string, tries = 10): void {
    this.focusing = key
    // The row that has the focus may leave the page first: a key pressed then is still the feed's.
    const { activeElement } = document
    if (activeElement !== this.scroller && this.scroller?.contains(activeElement) && !this.row(key))
      this.scroller.focus({ preventScroll: true })
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        if (this.focusing !== key) return
        this.focusing = undefined
        const row = this.row(key)
        if (!row) {
          // Rows of other heights than assumed moved it out of the page.
          if (tries <= 1 || this.heights.indexOf(key) < 0) return
          if (!this.following) this.toRow(key)
          return this.focus(key, tries - 1)
        }
        row.focus({ preventScroll: true })
        // A follower is at the end, and its last row may be higher than the view.
        if (!this.following) row.scrollIntoView({ block: 'nearest' })
      }),
    )
  }

  private row(key: string): HTMLElement | null {
    return this.scroller?.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`) ?? null
  }

  /** The reader's hand beats following at once, also while the feed grows under it. */
  hand = (event: WheelEvent | TouchEvent | KeyboardEvent) => {
    this.moving.take(event)
    if (!(event instanceof KeyboardEvent) || scrolling.includes(event.key)) this.aim = null
    const { scroller } = this
    if (this.moving.up && scroller && scroller.scrollTop > 0 && end(scroller) > 0) this.following = false
  }

  scrolled = () => {
    const { scroller } = this
    if (!scroller) return
    this.top = scroller.scrollTop
    if (this.placing) return
    if (this.cut(scroller)) return this.settle()
    const rest = end(scroller) - this.top
    this.atEnd = rest < near
    // Being off the end because the feed grew, or settled by a pixel, is no wish to stay.
    const settled = this.following && (this.top > this.placed - near || this.shifted(scroller))
    this.following = !this.away && (settled || (rest < near && !(this.moving.up && rest > 1)))
    if (this.anchor !== this.aim || this.top !== this.placed)
      this.anchor = this.heights.anchorAt(this.top - this.lead)
    // Nothing else may tell of the change that left them off the end.
    if (this.following && rest >= near) this.settle()
  }

  private settle(): void {
    this.version++
    // As soon as the page has changed, before its scroll event: a browser that cuts
    // the position because the feed shrank must not be taken for the reader.
    void tick().then(this.place)
  }
}

function end(scroller: HTMLElement): number {
  return scroller.scrollHeight - scroller.clientHeight
}
