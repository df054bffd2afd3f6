import { getContext, setContext } from 'svelte'
import { actorName } from '../text/actor'
import { initial, type AppState } from '../state/app'
import type { Left } from '../state/catchup'
import type { Intents } from '../state/intents'
import type { SessionState } from '../state/session'
import type { Store } from '../state/store'
import type { Action } from './keys'
import { PageFiles, type ChosenFiles } from './session/draftfiles'
import { Prefs } from './prefs.svelte'
import { Router, type Over } from './router.svelte'
import { Told } from './told.svelte'

/** A notice that needs no answer. */
export interface Notice {
  text: string
  undo: (() => Promise<void>) | undefined
}

/** The media query of screens that are too narrow for the details beside the feed. */
export const narrowDetails = '(max-width: 1180px)'

/** The longest a change waits where no frame is painted, as in a hidden tab. */
const unpaintedMs = 100

/** The state field by field: readers of one field are not updated for the others. */
class Shown implements AppState {
  link = $state.raw(initial.link)
  hub = $state.raw(initial.hub)
  list = $state.raw(initial.list)
  listError = $state.raw(initial.listError)
  listed = $state.raw(initial.listed)
  sessions = $state.raw(initial.sessions)
  outbox = $state.raw(initial.outbox)
  starts = $state.raw(initial.starts)
  problems = $state.raw(initial.problems)
  grants = $state.raw(initial.grants)
  unknownFrames = $state.raw(initial.unknownFrames)
  skew = $state.raw(initial.skew)
}

/**
 * The state for the screens: the newest one, at most once per painted frame, however many messages
 * came in between.
 */
export class Screens {
  readonly state: AppState = new Shown()
  /** The same as one value, for readers that must see each change. */
  whole: AppState = $state.raw(initial)
  /** Ticks each second while something on screen shows a running time. */
  now = $state(Date.now())
  /** The hub answers, but has yet to open the session on screen. */
  opening = $state(false)
  /** The frame of a session's screen has been painted; the rows that fill it may come. */
  framed = $state(true)
  readonly told = new Told()
  readonly prefs = new Prefs()
  readonly router = new Router()
  /** Where the menu of a session opens; null for its beginning. */
  menuAt: 'rename' | 'delete' | null = null
  /** The event of the session on screen that a fork begins at; null for its last. */
  forkAt: number | null = null
  /**
   * The folder of the working copy of a session that was ended, archived or deleted last; or of
   * session `of`, which works there, and whose copy a person discards.
   */
  leftCopy: { folder: string; of?: string } | null = null
  /** The find field of the session on screen is open. */
  finding = $state(false)
  /** What was searched for in a session, and is marked in its feed. */
  found: { id: string; text: string } | null = $state.raw(null)
  /** The palette was opened for its commands, not to go to a session. */
  commanding = false
  /** The session on screen was gone to by a key for the feed: the next one is, too. */
  byKeys = false
  /** The settings make a link for another device, or list agents to add, when they open. */
  adding: boolean | 'agent' = false
  /** The part of the settings that they show when they open. */
  part: string | null = null
  /** Letters typed while a part with a field is loaded; null while none is. */
  typed: string | null = null
  /** Carries out a key's action on the feed on screen. */
  feed: ((action: Action) => void) | null = null
  /** The last action or failure, with an undo where there is one; leaves by itself. */
  notice: Notice | null = $state.raw(null)
  private due = false
  /** How far the hub's clock is ahead of this device's, in ms. */
  private ahead = $state(0)

  constructor(
    readonly store: Store,
    readonly hub: Intents,
    readonly marks: { left(sessionId: string): (Left & { epoch: string }) | null },
    /** Loads the newest version of the page. */
    readonly reload: () => void = () => location.reload(),
    readonly chosen: ChosenFiles = new PageFiles(),
  ) {
    this.take()
    store.subscribe(() => this.schedule())
    setInterval(() => {
      if (document.visibilityState === 'visible') this.now = Date.now()
    }, 1000)
  }

  say(text: string, undo?: () => Promise<void>): void {
    this.notice = { text, undo }
  }

  /** The open overlay; going back in history closes it. */
  get overlay(): Over | null {
    return this.router.over
  }

  set overlay(over: Over) {
    this.typed = ''
    this.router.open(over)
  }

  /** Loads a part with a field, which gets the letters typed meanwhile. */
  async field<T>(part: Promise<T>): Promise<T> {
    this.typed = ''
    try {
      return await part
    } catch (error) {
      this.typed = null
      throw error
    }
  }

  /** Shows or hides the details: beside the feed, or over it where there is no room. */
  toggleDetails(): void {
    if (matchMedia(narrowDetails).matches) this.overlay = 'details'
    else this.prefs.inspector = !this.prefs.inspector
  }

  /** Opens the menu of the session on screen where its name is changed, or where it asks to delete it. */
  openMenu(at: 'rename' | 'delete'): void {
    this.menuAt = at
    this.overlay = 'menu'
  }

  /** Offers a new session that continues the one on screen from an event, or from its end. */
  fork(seq: number | null = null): void {
    this.forkAt = seq
    this.overlay = 'fork'
  }

  session(id: string | null): SessionState | undefined {
    return id === null ? undefined : this.state.sessions.get(id)
  }

  /**
   * The name of an actor in the session on screen: "You" for the name that the hub has for this
   * browser.
   */
  who(actor: string): string {
    const { route } = this.router
    const live = 'id' in route ? this.session(route.id)?.live : null
    const me = live?.observers.find((o) => o.client_id === this.state.hub?.client_id)
    return actor === '' || actor === me?.actor ? t`You` : actorName(actor)
  }

  /** A session's frame is in the page: its rows come once that has been painted, in two short tasks, not a long one. */
  frame(): void {
    if (this.framed) return
    const painted = () => setTimeout(() => (this.framed = true))
    requestAnimationFrame(painted)
    setTimeout(painted, unpaintedMs)
  }

  private schedule(): void {
    if (this.due) return
    this.due = true
    const timer = setTimeout(() => show(), unpaintedMs)
    const frame = requestAnimationFrame(() => show())
    const show = () => {
      clearTimeout(timer)
      cancelAnimationFrame(frame)
      this.due = false
      this.take()
    }
  }

  /** What the hub's clock says now, as far as it told; ticks as `now` does. */
  get hubNow(): number {
    return this.now + this.ahead
  }

  private take(): void {
    const { hub } = this.store.state
    if (hub && hub !== this.whole.hub) this.ahead = Date.parse(hub.time) - Date.now()
    this.whole = this.store.state
    Object.assign(this.state, this.whole)
  }
}

const key = Symbol('abide')

export function provide(screens: Screens): void {
  setContext(key, screens)
}

export function useApp(): Screens {
  return getContext<Screens>(key)
}
