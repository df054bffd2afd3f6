import { cursor } from '../state/session'
import type { Store } from '../state/store'
import type { ClientMessage, Seq } from '../wire/gen'

/** The shortest time between two acks. */
const ackMs = 1_000
const typingMs = 5_000

/**
 * Tells the hub the last applied event of this screen, and whether a person can see it. Others'
 * "who watches" and the person's read mark rest on it: nothing is sent before the hub's own read
 * mark is here.
 */
export class Attention {
  private sent: { id: string; epoch: string; seq: Seq; visible: boolean } | null = null
  private timer: ReturnType<typeof setTimeout> | undefined
  private calm: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly store: Store,
    private readonly followed: () => string | null,
    private readonly send: (message: ClientMessage) => boolean,
    private readonly visible: () => boolean,
  ) {
    store.subscribe(() => this.soon())
  }

  /** Sends everything again on a new socket. */
  renew(): void {
    this.sent = null
    this.soon()
  }

  /** Says so at once; called when the page is shown or hidden, too. */
  now(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    if (!this.store.state.listed) return
    const id = this.followed()
    const session = id === null ? undefined : this.store.state.sessions.get(id)
    const at = session && cursor(session)
    if (id === null || !at) return
    const ack = { id, epoch: at.epoch, seq: at.seq, visible: this.visible() }
    const { sent } = this
    if (sent?.id === id && sent.epoch === ack.epoch && sent.seq === ack.seq && sent.visible === ack.visible)
      return
    const { epoch, seq, visible } = ack
    if (this.send({ type: 'ack', session_id: id, epoch, seq, visible })) this.sent = ack
  }

  typing(session_id: string): void {
    clearTimeout(this.calm)
    this.send({ type: 'presence', session_id, activity: 'typing' })
    this.calm = setTimeout(() => this.viewing(session_id), typingMs)
  }

  /** The text was sent or given up; sends nothing when no typing was reported. */
  viewing(session_id: string): void {
    if (this.calm === undefined) return
    clearTimeout(this.calm)
    this.calm = undefined
    this.send({ type: 'presence', session_id, activity: 'viewing' })
  }

  /** Sends it before long, together with other changes until then. */
  soon(): void {
    this.timer ??= setTimeout(() => this.now(), ackMs)
  }
}
