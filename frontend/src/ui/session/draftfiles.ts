import type { OutboxFile } from '../../state/outboxitem'

/** Keeps the files chosen in each session until they are sent or taken away. */
export interface ChosenFiles {
  load(sessionId: string): Promise<readonly OutboxFile[]>
  /** Keeps these instead of what was kept; false where the device has no room for them. Never rejects. */
  save(sessionId: string, files: readonly OutboxFile[]): Promise<boolean>
}

/** Keeps them as long as the page. */
export class PageFiles implements ChosenFiles {
  private readonly files = new Map<string, readonly OutboxFile[]>()

  async load(sessionId: string): Promise<readonly OutboxFile[]> {
    return this.files.get(sessionId) ?? []
  }

  async save(sessionId: string, files: readonly OutboxFile[]): Promise<boolean> {
    this.files.set(sessionId, files)
    return true
  }
}
