import type { OutboxFile } from '../../state/outboxitem'
import { acceptFiles, filesMax } from './chosen'
import type { ChosenFile, ChosenFiles } from './draftfiles'
import {
  draftName,
  joined,
  keepsDraft,
  loadDraft,
  nameDraft,
  saveDraft,
  unnameDraft,
  type Given,
} from './drafts'
import { fingerprint } from './fingerprint'

/** To write down a text longer than this takes long enough to be felt at each key. */
const longText = 10_000
/** How much of the writing of a long text may be lost with the page. */
const laterMs = 500

/** A prompt being written in one session: its text and its files, both kept on this device. */
export class Draft {
  text = $state('')
  files = $state.raw<readonly ChosenFile[]>([])
  /** Why files were left out, in words for a person. */
  problem = $state('')
  /** Where words came from that were not written here, until more are written. */
  note = $state('')
  /** Whether the device has the text as it is now, also after the page. */
  kept = $state(true)
  /** Whether the device has the files, too. */
  filesKept = $state(true)
  readonly empty = $derived(this.text.trim() === '' && this.files.length === 0)
  /** How many files there are more than a prompt takes: it is not sent before they are taken away. */
  readonly surplus = $derived(Math.max(0, this.files.length - filesMax))

  /** Whether there is something to say about it. */
  readonly noted = $derived(
    this.note !== '' || this.problem !== '' || this.surplus > 0 || !this.kept || !this.filesKept,
  )

  /** Files chosen here that the device does not have, or not yet. */
  private readonly unkept = new Set<string>()
  /** While a long text is still to be written down. */
  private later: ReturnType<typeof setTimeout> | undefined

  /** The draft's id from its first letter until it is sent, shared by all tabs that show it. */
  private name = ''

  constructor(
    private readonly id: string,
    private readonly chosen: ChosenFiles,
  ) {
    this.text = loadDraft(id)
    this.kept = keepsDraft(id)
    if (this.text !== '') this.name = draftName(id)
    void this.look()
  }

  /**
   * Hears of other tabs' files; returns the function that ends the draft, which writes pending
   * changes.
   */
  watch = (): (() => void) => {
    const unwatch = this.chosen.watch(this.id, () => void this.look())
    return () => {
      unwatch()
      this.flush()
    }
  }

  /**
   * The id of the prompt that this draft is as it stands. Sent by two tabs at once, before the one has heard
   * of the other, it is one prompt; with other words or files, or written anew, it is another.
   */
  promptId(scheduledAt?: string): string {
    if (this.name === '') return crypto.randomUUID()
    const said = [this.text.trim(), scheduledAt ?? '', ...this.files.map(({ id }) => id)]
    return `${this.name}.${fingerprint(JSON.stringify(said))}`
  }

  write(text: string): void {
    if (this.text === '' && text !== '') this.name = nameDraft(this.id)
    this.text = text
    this.note = ''
    if (text.length > longText) this.later ??= setTimeout(this.flush, laterMs)
    else this.save()
  }

  /** Takes over another tab's text. */
  follow(text: string): void {
    clearTimeout(this.later)
    this.later = undefined
    this.text = text
    this.kept = true
    this.name = text === '' ? '' : draftName(this.id)
  }

  /** Writes pending changes: the page or the screen may be at its end. */
  flush = (): void => {
    if (this.later !== undefined) this.save()
  }

  /** Takes files a person chose, pasted or dropped; false when there were none. */
  add(more: FileList | undefined | null): boolean {
    if (!more || more.length === 0) return false
    const accepted = acceptFiles(this.files, [...more])
    this.keep(accepted.files.slice(this.files.length))
    this.problem = accepted.problem
    return true
  }

  /** Adds text that was written elsewhere on the screen. */
  take(given: Given): void {
    this.write(joined(this.text, given.text))
    this.note = given.note ?? ''
    if (given.files?.length) this.keep(given.files)
  }

  remove(at: number): void {
    const { id } = this.files[at]!
    this.files = this.files.filter((file) => file.id !== id)
    this.unkept.delete(id)
    // There may be room now for those there was none for.
    void this.chosen.remove(this.id, [id]).then(this.saveFiles)
  }

  /** Empties it; the device drops the files once the prompt with them is stored. */
  clear(kept?: Promise<unknown>): void {
    this.write('')
    this.name = ''
    unnameDraft(this.id)
    this.problem = ''
    const ids = this.files.map((file) => file.id)
    this.files = []
    this.unkept.clear()
    this.filesKept = true
    if (ids.length > 0) void this.chosen.remove(this.id, ids, kept)
  }

  private save(): void {
    clearTimeout(this.later)
    this.later = undefined
    this.kept = saveDraft(this.id, this.text)
  }

  /** Takes the files the device has, of an earlier page and of other tabs, before those it has not. */
  private async look(): Promise<void> {
    const there = await this.chosen.load(this.id)
    const had = (id: string) => there.some((file) => file.id === id)
    this.files = [...there, ...this.files.filter(({ id }) => this.unkept.has(id) && !had(id))]
  }

  /** Each choosing has ids of its own: a file that was sent and comes back is another. */
  private keep(files: readonly OutboxFile[]): void {
    const now = Date.now()
    const chosen = files.map((file, i) => ({ ...file, id: `${now}.${100 + i}.${crypto.randomUUID()}` }))
    for (const { id } of chosen) this.unkept.add(id)
    this.files = [...this.files, ...chosen]
    void this.saveFiles()
  }

  private saveFiles = async (): Promise<void> => {
    const files = this.files.filter(({ id }) => this.unkept.has(id))
    const kept = files.length === 0 || (await this.chosen.add(this.id, files))
    if (kept) for (const { id } of files) this.unkept.delete(id)
    this.filesKept = kept || !files.some(({ id }) => this.unkept.has(id))
  }
}
