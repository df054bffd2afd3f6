import type { OutboxFile, OutboxItem } from '../state/outboxitem'
import type { Message } from '../state/message'
import { frameBytes, tooLong } from '../state/size'
import type { Attachment, ClientMessage, ServerMessage, When } from '../wire/gen'
import { ApiError } from './api'
import type { Requests } from './requests'

/** Where the outbox survives the tab. */
export interface OutboxStorage {
  all(): Promise<OutboxItem[]>
  put(item: OutboxItem): Promise<void>
  delete(id: string): Promise<void>
  /** The name of this tab among a person's. */
  readonly tab: string
  /** Settles when another tab has ended: with true if this tab takes over its items. */
  ended(tab: string): Promise<boolean>
}

/**
 * The messages between a person's tabs: of an item and its tab, that one is done with, to send one
 * again, to tell all.
 */
type News =
  | { kind: 'outbox'; item: OutboxItem; tab: string }
  | { kind: 'outbox_done'; id: string }
  | { kind: 'retry'; id: string }
  | { kind: 'all' }

/** Items older than this are sent only after a person confirms it: an old prompt must not run unannounced. */
const staleMs = 10 * 60_000
/** The pause before the upload of a file is retried. */
const againMs = 5_000
/** How long another tab's item is shown after it is done with: the feed of this one may have it a moment later. */
const lingerMs = 300
/** Items of an ended tab that no tab has taken over by then are lost. */
const takenMs = 2_000

/**
 * Prompts and permission answers on their way. Each is stored before it is
 * sent and leaves only on the hub's answer to its id; the id makes sending it
 * again harmless.
 */
export class Outbox {
  private readonly items = new Map<string, OutboxItem>()
  /** Prompts with files that are being uploaded. */
  private readonly uploading = new Set<string>()
  /**
   * Prompts that stop the turn, until they were sent once. Only the turn that the person saw may be
   * stopped, so they go as others do when they are sent again, later or by another tab.
   */
  private readonly stopping = new Set<string>()
  /** Called when an item is done with that the device does not keep. */
  private readonly unkept = new Map<string, () => void>()
  /** The tab of each item that another tab is sending. */
  private readonly theirs = new Map<string, string>()
  private readonly watched = new Set<string>()
  private channel: BroadcastChannel | undefined
  /** The most bytes of a frame the hub takes, once it has said so. */
  private maxFrame = Infinity

  constructor(
    private readonly storage: OutboxStorage,
    private readonly requests: Requests,
    private readonly dispatch: (message: Message) => void,
    private readonly send: (message: ClientMessage) => boolean,
    private readonly attach: (sessionId: string, file: OutboxFile) => Promise<Attachment>,
    private readonly now: () => number = Date.now,
  ) {}

  /** Shows the waiting items of a person's other tabs, and tells them this one's. */
  join(channel: BroadcastChannel): void {
    this.channel = channel
    channel.onmessage = ({ data }: MessageEvent<News>) => this.heard(data)
    this.tell({ kind: 'all' })
  }

  /** Takes over the items of a tab that has ended. */
  async load(): Promise<void> {
    for (const item of await this.storage.all()) {
      if (this.items.has(item.id)) continue
      this.set({ ...item, stale: this.old(item), status: item.status === 'failed' ? 'failed' : 'queued' })
    }
    this.flush()
  }

  /**
   * Takes an item; a prompt may stop the turn. Settles once the device keeps it or, where it cannot,
   * once it is answered or given up.
   */
  async add(
    item: Omit<OutboxItem, 'createdAt' | 'status' | 'problem' | 'stale'>,
    stops = false,
  ): Promise<void> {
    const full: OutboxItem = { ...item, createdAt: this.now(), status: 'queued' }
    if (stops) this.stopping.add(full.id)
    this.set(full)
    const kept = await this.storage.put(full).then(
      () => true,
      () => false,
    )
    this.flush() // without storage it is still sent from memory
    if (kept || !this.items.has(full.id)) return
    await new Promise<void>((done) => this.unkept.set(full.id, done))
  }

  retry(id: string): void {
    const item = this.items.get(id)
    if (!item) return this.tell({ kind: 'retry', id })
    // The hub keeps a file that no prompt names for an hour only: those here are given to it again.
    const files = item.files?.map(({ name, blob }) => ({ name, blob }))
    const again = { ...item, ...(files && { files }), problem: undefined, stale: false }
    this.set({ ...again, status: 'queued', createdAt: this.now() })
    void this.storage.put(this.items.get(id)!).catch(() => {})
    this.flush()
  }

  drop(id: string): void {
    this.items.delete(id)
    this.stopping.delete(id)
    this.unkept.get(id)?.()
    this.unkept.delete(id)
    this.theirs.delete(id)
    this.dispatch({ kind: 'outbox_done', id })
    this.tell({ kind: 'outbox_done', id })
    void this.storage.delete(id).catch(() => {})
  }

  /** A new socket, which takes frames of so many bytes: items under way are sent again. */
  resend(maxFrame = this.maxFrame): void {
    this.maxFrame = maxFrame
    this.stopping.clear()
    for (const item of this.items.values()) {
      if (item.status === 'sending') this.set({ ...item, status: 'queued' })
    }
    this.flush()
  }

  /**
   * The hub closed a socket because of a frame that was too large for it. Sent again it would
   * close the next one, too, and nothing behind it would ever be sent: the largest fails.
   */
  tooLarge(): void {
    const sending = [...this.items.values()]
      .filter((item) => item.status === 'sending')
      .map((item) => ({ item, bytes: frameBytes(message(item, '', 'auto')) }))
      .sort((a, b) => b.bytes - a.bytes)
    const largest = sending[0]
    if (largest) this.fail(largest.item, tooLong(largest.bytes, this.maxFrame))
  }

  /** Sends the waiting items, in order. */
  flush(): void {
    const behindFiles = new Set<string>()
    for (const item of this.items.values()) {
      if (item.status !== 'queued') continue
      if (item.kind === 'prompt' && behindFiles.has(item.sessionId)) continue
      const stale = item.stale || this.old(item)
      if (stale) {
        if (!item.stale) this.set({ ...item, stale: true })
        continue
      }
      if (item.files?.some((f) => !f.stored)) {
        behindFiles.add(item.sessionId) // later prompts wait, to keep the order
        void this.upload(item.id)
        continue
      }
      const request_id = this.requests.add({ kind: 'outbox', id: item.id, sessionId: item.sessionId })
      const frame = message(item, request_id, this.stopping.has(item.id) ? 'now' : 'auto')
      const bytes = frameBytes(frame)
      if (bytes > this.maxFrame) {
        this.requests.settle(request_id)
        this.fail(item, tooLong(bytes, this.maxFrame)) // the next items are still sent
        continue
      }
      if (!this.send(frame)) {
        this.requests.settle(request_id)
        this.stopping.clear()
        return
      }
      this.stopping.delete(item.id)
      this.set({ ...item, status: 'sending' })
    }
  }

  /** Takes the hub's answer to an item. */
  answered(id: string, frame: ServerMessage): void {
    const item = this.items.get(id)
    if (!item) return
    if (frame.type === 'session_gone' && item.kind === 'prompt') return this.homeless(item)
    if (frame.type !== 'error') return this.drop(id)
    if (frame.code === 'already_resolved') {
      if (frame.winner?.option_id !== item.optionId) {
        const text =
          frame.winner?.outcome === 'selected'
            ? t`${frame.winner.by} answered first: your answer did not count.`
            : t`The request was withdrawn before your answer came.`
        this.dispatch({ kind: 'problem', sessionId: item.sessionId, request: item.id, text })
      }
      return this.drop(id)
    }
    if (frame.code === 'busy' || frame.code === 'unavailable') {
      this.set({ ...item, status: 'queued' })
      setTimeout(() => this.flush(), frame.retry_after_ms || 1_000)
      return
    }
    this.fail(item, frame.message)
  }

  /** Gives up the items of a session that a person deleted on this device. */
  forget(sessionId: string): void {
    for (const item of [...this.items.values()]) if (item.sessionId === sessionId) this.drop(item.id)
  }

  /** Keeps a prompt whose session was deleted before it came: no other place has its words. */
  private homeless(item: OutboxItem): void {
    this.fail(item, t`Its session was deleted.`)
    const words = item.text.length > 60 ? `${item.text.slice(0, 60)}…` : item.text
    const text = t`“${words}” was not asked: its session was deleted. The words are kept at /s/${item.sessionId}.`
    this.dispatch({ kind: 'problem', request: item.id, text })
  }

  /** Gives the hub the files of a prompt, one after the other, and then sends it. Never rejects. */
  private async upload(id: string): Promise<void> {
    if (this.uploading.has(id)) return
    this.uploading.add(id)
    try {
      for (let item = this.items.get(id); item; item = this.items.get(id)) {
        const at = item.files?.findIndex((f) => !f.stored) ?? -1
        if (at < 0) break
        const stored = await this.attach(item.sessionId, item.files![at]!)
        const now = this.items.get(id)
        if (!now) return // given up meanwhile
        const files = now.files?.map((f, i) => (i === at ? { ...f, stored } : f))
        this.set({ ...now, files })
      }
    } catch (error) {
      return this.notUploaded(id, error as Error)
    } finally {
      this.uploading.delete(id)
    }
    this.flush()
  }

  private notUploaded(id: string, error: Error): void {
    const item = this.items.get(id)
    if (!item) return
    const passing =
      error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500)
    this.stopping.delete(id)
    if (passing) setTimeout(() => this.flush(), againMs)
    else this.fail(item, t`A file could not be sent: ${error.message}`)
  }

  /**
   * Whether an item is too old to be sent without asking; so is one with no time, or a time in the
   * future.
   */
  private old(item: OutboxItem): boolean {
    const age = this.now() - item.createdAt
    return !(age <= staleMs && age >= -staleMs)
  }

  private fail(item: OutboxItem, problem: string): void {
    this.stopping.delete(item.id)
    const failed: OutboxItem = { ...item, status: 'failed', problem }
    this.set(failed)
    void this.storage.put(failed).catch(() => {})
  }

  private set(item: OutboxItem): void {
    this.items.set(item.id, item)
    this.dispatch({ kind: 'outbox', item })
    this.tell({ kind: 'outbox', item, tab: this.storage.tab })
  }

  private tell(news: News): void {
    this.channel?.postMessage(news)
  }

  /**
   * An item belongs to the tab that has it, against other tabs' messages; they may give it up all
   * the same.
   */
  private heard(news: News): void {
    if (news.kind === 'all') for (const item of this.items.values()) this.set(item)
    else if (news.kind === 'outbox') this.theirsIs(news.item, news.tab)
    else if (this.items.has(news.id)) news.kind === 'retry' ? this.retry(news.id) : this.drop(news.id)
    else if (news.kind === 'outbox_done') this.theirsGone(news.id)
  }

  private theirsIs(item: OutboxItem, tab: string): void {
    if (this.items.has(item.id)) return
    this.theirs.set(item.id, tab)
    this.dispatch({ kind: 'outbox', item })
    if (!this.watched.has(tab)) void this.lookAfter(tab).catch(() => {})
  }

  private theirsGone(id: string): void {
    this.theirs.delete(id)
    setTimeout(() => {
      if (!this.items.has(id) && !this.theirs.has(id)) this.dispatch({ kind: 'outbox_done', id })
    }, lingerMs)
  }

  private async lookAfter(tab: string): Promise<void> {
    this.watched.add(tab)
    if (await this.storage.ended(tab)) await this.load()
    setTimeout(() => {
      for (const [id, of] of this.theirs) if (of === tab) this.theirsGone(id)
    }, takenMs)
  }
}

function message(item: OutboxItem, request_id: string, when: When): ClientMessage {
  if (item.kind === 'prompt') {
    return {
      type: 'prompt',
      request_id,
      session_id: item.sessionId,
      prompt_id: item.id,
      text: item.text,
      ...(item.files && { attachments: item.files.flatMap((f) => f.stored ?? []) }),
      when,
      ...(item.scheduledAt && { scheduled_at: item.scheduledAt }),
    }
  }
  return {
    type: 'permission_answer',
    request_id,
    session_id: item.sessionId,
    permission_id: item.id,
    option_id: item.optionId ?? '',
    ...(item.content === undefined ? {} : { content: item.content }),
    ...(item.remember && { remember: item.remember }),
    ...(item.seenSeq && { seen_seq: item.seenSeq }),
  }
}
