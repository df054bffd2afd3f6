import { find } from '../../state/feed'
import type { SessionState } from '../../state/session'
import type { QueueItem } from '../../wire/gen'
import { giveDraft } from './drafts'

/** The text being edited, as this tab keeps it through a reload. */
interface Kept {
  id: string
  /** The queue's text when the edit began. */
  from: string
  text: string
}

/**
 * An edit of a queued prompt. The queue does not wait for it: where the prompt leaves
 * the queue before the hub has the new words, they go on in the composer.
 */
export class QueueEdit {
  /** The prompt being edited; null when none is. */
  id = $state<string | null>(null)
  text = $state('')
  private from = ''
  /** The last saved text; null when nothing was. */
  private sent: string | null = null
  private readonly key: string

  constructor(private readonly sessionId: string) {
    this.key = `abide.edit.${sessionId}`
    const kept = this.load()
    if (kept) [this.id, this.from, this.text] = [kept.id, kept.from, kept.text]
  }

  begin(item: QueueItem): void {
    this.id = item.prompt_id
    this.from = item.text
    this.sent = null
    this.write(item.text)
  }

  write(text: string): void {
    this.text = text
    this.keep({ id: this.id!, from: this.from, text })
  }

  /** Saves the words to a prompt that reads `has`; says whether the hub must hear of it. */
  save(has: string): boolean {
    const { text, sent } = this
    this.sent = text
    if (text !== has) return true
    this.end()
    // An earlier save may be under way.
    return sent !== null
  }

  end(): void {
    this.id = null
    this.keep(null)
  }

  /**
   * Follows the prompt: ends once the queue has the text, and keeps the text of a prompt that left
   * the queue.
   */
  look(session: SessionState): void {
    const { id, text } = this
    if (id === null || session.live === null) return
    const item = session.live.queue.find((queued) => queued.prompt_id === id)
    if (item) {
      // The hub keeps half a character as the replacement character.
      if (item.text === text.replace(/\p{Cs}/gu, '\ufffd') && (text === this.sent || item.text !== this.from))
        this.end()
      return
    }
    const asked = find(session.feed, 'prompt', `prompt:${id}`)
    const known = text.trim() === '' || text === this.from || text === asked?.text
    this.end()
    if (known) return
    const note = asked
      ? t`Already sent unedited. Your edit is in the composer.`
      : t`That prompt is no longer in the queue: your edit is here.`
    giveDraft(this.sessionId, { text, note, focus: document.activeElement?.closest('[data-edit]') != null })
  }

  private load(): Kept | null {
    try {
      return JSON.parse(sessionStorage.getItem(this.key) ?? 'null') as Kept | null
    } catch {
      return null
    }
  }

  private keep(kept: Kept | null): void {
    try {
      if (kept) sessionStorage.setItem(this.key, JSON.stringify(kept))
      else sessionStorage.removeItem(this.key)
    } catch {
      // Without storage an edit lasts as long as the page.
    }
  }
}
