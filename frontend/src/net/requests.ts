/** The purpose of a frame with a request_id. */
export type Purpose =
  | { kind: 'observe'; sessionId: string }
  | { kind: 'gap'; sessionId: string }
  | { kind: 'older'; sessionId: string }
  /** target: the seq a window begins around; null for a page next to it. */
  | { kind: 'window'; sessionId: string; target: number | null }
  | { kind: 'outbox'; id: string; sessionId: string }
  | { kind: 'verb'; sessionId: string }

/** The pending requests on the current socket, so that no request is sent twice at once. */
export class Requests {
  private readonly open = new Map<string, Purpose>()
  private count = 0

  add(purpose: Purpose): string {
    const id = `r${++this.count}`
    this.open.set(id, purpose)
    return id
  }

  /** Forgets a request and returns its purpose. */
  settle(id: string | undefined): Purpose | undefined {
    if (id === undefined) return undefined
    const purpose = this.open.get(id)
    this.open.delete(id)
    return purpose
  }

  has(kind: Purpose['kind'], sessionId: string): boolean {
    return [...this.open.values()].some((p) => p.kind === kind && p.sessionId === sessionId)
  }

  /** A new socket: requests on the old one will not be answered. */
  clear(): void {
    this.open.clear()
  }
}
