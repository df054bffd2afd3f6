import type { OutboxFile } from '../../state/outboxitem'
import type { Agent } from '../../wire/gen'
import { acceptFiles } from './chosen'
import { loadDraft, saveDraft } from './drafts'

/** A prompt being written in one session: its text, kept on this device, and its files, kept by the page. */
export class Draft {
  text = $state('')
  files = $state.raw<readonly OutboxFile[]>([])
  /** Why files were left out, in words for a person. */
  problem = $state('')
  /** Whether the device has the text as it is now, also after the page. */
  kept = $state(true)
  readonly empty = $derived(this.text.trim() === '' && this.files.length === 0)

  constructor(
    private readonly id: string,
    private readonly chosen: Map<string, readonly OutboxFile[]>,
  ) {
    this.text = loadDraft(id)
    this.files = chosen.get(id) ?? []
  }

  write(text: string): void {
    this.text = text
    this.kept = saveDraft(this.id, text)
  }

  /** Takes files a person chose, pasted or dropped; false when there were none. */
  add(more: FileList | undefined | null, agent: Agent | undefined): boolean {
    if (!more || more.length === 0) return false
    const accepted = acceptFiles(this.files, [...more], agent)
    this.keep(accepted.files)
    this.problem = accepted.problem
    return true
  }

  remove(at: number): void {
    this.keep(this.files.filter((_, i) => i !== at))
  }

  clear(): void {
    this.write('')
    this.keep([])
    this.problem = ''
  }

  private keep(files: readonly OutboxFile[]): void {
    this.files = files
    this.chosen.set(this.id, files)
  }
}
