import type { OutboxFile } from '../../state/outboxitem'

/** A file chosen for a prompt; its id is of this choosing alone, and says which was chosen first. */
export interface ChosenFile extends OutboxFile {
  readonly id: string
}

/** Keeps the files chosen in each session until they are sent or taken away. Nothing of it rejects. */
export interface ChosenFiles {
  /** The stored files of a session, in the order chosen, without removed ones. */
  load(sessionId: string): Promise<readonly ChosenFile[]>
  /** Keeps these beside the others; false, and none is kept, where the device has no room for them. */
  add(sessionId: string, files: readonly ChosenFile[]): Promise<boolean>
  /**
   * Lets go of files: no draft has them from now on; the device drops them once the prompt with
   * them is stored.
   */
  remove(sessionId: string, ids: readonly string[], after?: Promise<unknown>): Promise<void>
  /**
   * Calls back when another tab kept files or let go of some; returns the function that ends it.
   */
  watch(sessionId: string, changed: () => void): () => void
}

/** Keeps them as long as the page. */
export class PageFiles implements ChosenFiles {
  private readonly files = new Map<string, readonly ChosenFile[]>()

  async load(sessionId: string): Promise<readonly ChosenFile[]> {
    return this.files.get(sessionId) ?? []
  }

  async add(sessionId: string, files: readonly ChosenFile[]): Promise<boolean> {
    const ids = files.map(({ id }) => id)
    this.files.set(sessionId, [...this.without(sessionId, ids), ...files])
    return true
  }

  async remove(sessionId: string, ids: readonly string[]): Promise<void> {
    this.files.set(sessionId, this.without(sessionId, ids))
  }

  /** No other tab has this page's. */
  watch(): () => void {
    return () => {}
  }

  private without(sessionId: string, ids: readonly string[]): readonly ChosenFile[] {
    return (this.files.get(sessionId) ?? []).filter(({ id }) => !ids.includes(id))
  }
}
