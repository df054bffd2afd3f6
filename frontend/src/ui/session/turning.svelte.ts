import { MediaQuery } from 'svelte/reactivity'
import { planOf, silence, turnState } from '../../state/select'
import type { SessionState } from '../../state/session'
import { duration } from '../../text/time'
import type { Screens } from '../app.svelte'
import { home } from '../parts/home'

/** A session's turn in words, and how it is stopped. To be made by a component. */
export class Turning {
  /** On a phone. */
  readonly small = new MediaQuery('(max-width: 600px)')
  /** While disconnected the turn may have ended: the clock stands still, and impossible actions are not offered. */
  lost = $state(false)
  private stopping = $state(0)

  constructor(
    private readonly app: Screens,
    private readonly of: () => SessionState | undefined,
  ) {
    $effect(() => {
      if (app.state.link.phase === 'open') {
        this.lost = false
        return
      }
      const timer = setTimeout(() => (this.lost = true), 1000)
      return () => clearTimeout(timer)
    })
    $effect(() => {
      if (this.state === 'cancelling') this.stopping ||= Date.now()
      else this.stopping = 0
    })
  }

  readonly state = $derived.by(() => {
    const session = this.of()
    return session ? turnState(session) : 'idle'
  })
  /** It runs, and its session has been read. */
  readonly on = $derived.by(() => {
    const session = this.of()
    return this.state !== 'idle' && session?.reading === null && !session.live?.restore
  })
  readonly waiting = $derived.by(() => (this.of()?.live?.pending_permissions.length ?? 0) > 0)
  private readonly silent = $derived.by(() => {
    const session = this.of()
    return session ? silence(session, this.app.now) : 0
  })
  private readonly quiet = $derived(
    this.state === 'prompting' && !this.waiting && !this.lost && this.silent > 20_000,
  )
  /** The hub offers to free a turn of an agent that does not stop; so does this, as late. */
  readonly stuck = $derived.by(
    () => this.of()?.live?.turn.force_reset || (this.stopping > 0 && this.app.now - this.stopping > 10_000),
  )
  /** On a phone the header has the words and the composer the button that stops, until it takes force. */
  readonly brief = $derived.by(() => this.small.current && this.on && !this.stuck)
  readonly words = $derived.by(() => {
    const session = this.of()
    const step = session && planOf(session).find((e) => e.status === 'in_progress')
    return this.lost
      ? t`Last seen: working`
      : this.state === 'starting'
        ? t`Starting the agent`
        : this.state === 'cancelling'
          ? t`Stopping`
          : this.state === 'blocked'
            ? t`The hub cannot write its log; the agent waits`
            : this.waiting
              ? t`Waiting for you`
              : this.quiet
                ? t`No output for ${duration(this.silent)}`
                : (step?.content ?? t`Working`)
  })
  /** How long it has run; empty in its first second. */
  readonly time = $derived.by(() => {
    const since = this.of()?.live?.turn.since
    const running = since && !this.lost ? Math.max(0, this.app.now - Date.parse(since)) : 0
    return running < 1000 ? '' : `${this.quiet ? t`of ` : ''}${duration(running)}`
  })

  /** The pressed button goes away, sooner or later: the focus goes on to the composer. */
  leave(press: (id: string) => void): void {
    const session = this.of()
    if (!session) return
    press(session.id)
    home()?.focus({ preventScroll: true })
  }

  stop(): void {
    this.leave((id) => (this.stuck ? this.app.hub.forceReset(id) : this.app.hub.cancel(id)))
  }
}
