import type { OutboxFile } from '../../state/outboxitem'
import type { Agent } from '../../wire/gen'
import { acceptFiles, filesMax } from './chosen'
import type { ChosenFiles } from './draftfiles'
import { joined, loadDraft, saveDraft, type Given } from './drafts'

/** To write down a text longer than this takes long enough to be felt at each key. */
const longText = 10_000
/** How much of the writing of a long text may be lost with the page. */
const laterMs = 500

/** A prompt being written in one session: its text and its files, both kept on this device. */
export class Draft {
  text = $state('')
  files = $state.raw<readonly OutboxFile[]>([])
  /** Why files were left out, in words for a person. */
  problem = $state('')
  /** Where words came from that were not written here, until more are written. */
  note = $state('')
  /** Whether the device has the text as it is now, also after the page. */
  kept = $state(true)
  /** Whether the device has the files, too. */
  filesKept = $state(true)
  readonly empty = $derived(this.text.trim() === '' && this.files.length === 0)

  /** Whether there is something to say about it. */
  readonly noted = $derived(this.note !== '' || this.problem !== '' || !this.kept || !this.filesKept)

  private saving: Promise<unknown> = Promise.resolve()
  /** While a long text is still to be written down. */
  private later: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly id: string,
    private readonly chosen: ChosenFiles,
  ) {
    this.text = loadDraft(id)
    void chosen.load(id).then((left) => this.found(left))
  }

  write(text: string): void {
    this.text = text
    this.note = ''
    if (text.length > longText) this.later ??= setTimeout(this.flush, laterMs)
    else this.save()
  }

  /** Takes what another tab wrote. */
  follow(text: string): void {
    clearTimeout(this.later)
    this.later = undefined
    this.text = text
  }

  /** Writes down what is still to be: the page or the screen may be at its end. */
  flush = (): void => {
    if (this.later !== undefined) this.save()
  }

  /** Takes files a person chose, pasted or dropped; false when there were none. */
  add(more: FileList | undefined | null, agent: Agent | undefined): boolean {
    if (!more || more.length === 0) return false
    const accepted = acceptFiles(this.files, [...more], agent)
    this.keep(accepted.files)
    this.problem = accepted.problem
    return true
  }

  /** Adds what was written elsewhere on the screen. */
  take(given: Given): void {
    this.write(joined(this.text, given.text))
    this.note = given.note ?? ''
    if (given.files?.length) this.keep([...this.files, ...given.files].slice(0, filesMax))
  }

  remove(at: number): void {
    this.keep(this.files.filter((_, i) => i !== at))
  }

  /** Empties it; the device lets go of the files once what they went into is kept. */
  clear(kept: Promise<unknown> = Promise.resolve()): void {
    this.write('')
    this.problem = ''
    this.keep([], kept)
  }

  private save(): void {
    clearTimeout(this.later)
    this.later = undefined
    this.kept = saveDraft(this.id, this.text)
  }

  /** Takes the files an earlier page left, before those chosen since. */
  private found(left: readonly OutboxFile[]): void {
    const added = this.files
    if (left.length === 0) return
    this.files = [...left, ...added].slice(0, filesMax)
    if (added.length > 0) this.keep(this.files)
  }

  private keep(files: readonly OutboxFile[], after: Promise<unknown> = Promise.resolve()): void {
    const had = this.files.length > 0 || files.length > 0
    this.files = files
    if (!had) return
    // One after the other: what is kept in the end is what was chosen last.
    this.saving = Promise.all([this.saving, after.catch(() => {})])
      .then(() => this.chosen.save(this.id, files))
      .then((kept) => void (this.filesKept = kept))
  }
}
