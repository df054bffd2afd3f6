import type { Choices } from '../state/intents'
import type { NewJob, NewSession } from '../wire/gen'
import type { Message } from '../state/message'
import { isStale, keptStarts, type Start } from '../state/starts'
import { ApiError } from './api'
import { isRecord, parsed } from './kept'

export const startsKey = 'abide.starts'
const choicesKey = 'abide.choices'
/** The pause before a failed request is tried again. */
const againMs = 5_000

/**
 * Sessions and jobs that were asked for without a connection. The device keeps them until the hub has made them; their key makes
 * sending them again harmless, also from two tabs.
 */
export class Starts {
  private list: readonly Start[] = []
  private sending: Promise<void> | null = null
  private again = false
  private later: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly storage: Storage,
    private readonly create: (request: NewSession | NewJob, key: string) => Promise<unknown>,
    private readonly dispatch: (message: Message) => void,
    private readonly now: () => number = Date.now,
  ) {
    this.read()
    addEventListener('storage', (event) => event.key === startsKey && this.read())
  }

  /** Takes a request; false where the device cannot keep it. */
  add(request: NewSession | NewJob, key: string, form?: Start['form']): boolean {
    const kept = this.write((list) => [
      ...list.filter((s) => s.key !== key),
      { key, request, at: this.now(), ...(form && { form }) },
    ])
    if (kept) void this.flush()
    return kept
  }

  /** Sends a start again that a person confirms. */
  retry(key: string): void {
    this.write((list) => list.map((s) => (s.key === key ? again(s, this.now()) : s)))
    void this.flush()
  }

  drop(key: string): void {
    this.write((list) => list.filter((s) => s.key !== key))
  }

  /** Has the hub make the waiting sessions and jobs, oldest first, until it cannot be reached. */
  flush(): Promise<void> {
    this.again = true
    return (this.sending ??= this.send().finally(() => (this.sending = null)))
  }

  /** The agents and folders for a new session, as last loaded: to fill the form without the hub. */
  keptChoices(): Choices | null {
    const value = parsed(this.storage, choicesKey)
    if (!isRecord(value)) return null
    const { agents, workspaces, default_workspace } = value
    const whole =
      Array.isArray(agents) &&
      agents.every((a) => isRecord(a) && typeof a['name'] === 'string') &&
      Array.isArray(workspaces) &&
      workspaces.every((w) => typeof w === 'string') &&
      typeof default_workspace === 'string'
    return whole ? ({ agents, workspaces, default_workspace } as Choices) : null
  }

  keepChoices(choices: Choices): void {
    try {
      this.storage.setItem(choicesKey, JSON.stringify(choices))
    } catch {
      // Full: the form needs the hub.
    }
  }

  private async send(): Promise<void> {
    while (this.again) {
      this.again = false
      for (const { key } of this.list) {
        const start = this.list.find((s) => s.key === key)
        if (!start || start.problem !== undefined || isStale(start, this.now())) continue
        try {
          await this.create(start.request, key)
          this.drop(key)
        } catch (error) {
          if (passing(error)) {
            // Not only the next connection is a reason to try again: this one may be to a hub that just began.
            clearTimeout(this.later)
            this.later = setTimeout(() => void this.flush(), againMs)
            break
          }
          const { message } = error as Error
          this.write((list) => list.map((s) => (s.key === key ? { ...s, problem: message } : s)))
        }
      }
    }
  }

  /** Changes the device's present list: another tab may have changed it since. */
  private write(change: (list: readonly Start[]) => readonly Start[]): boolean {
    this.read()
    const list = change(this.list)
    try {
      if (list.length > 0) this.storage.setItem(startsKey, JSON.stringify(list))
      else this.storage.removeItem(startsKey)
    } catch {
      return false
    }
    this.show(list)
    return true
  }

  private read(): void {
    this.show(keptStarts(parsed(this.storage, startsKey)))
  }

  private show(list: readonly Start[]): void {
    this.list = list
    this.dispatch({ kind: 'starts', starts: list })
  }
}

/** The same start without its problem, to send it once more. */
const again = ({ key, request, form }: Start, at: number): Start => ({
  key,
  request,
  at,
  ...(form && { form }),
})

/** Whether the same request may succeed later without the person. */
function passing(error: unknown): boolean {
  return error instanceof ApiError && [0, 401, 429, 502, 503, 504].includes(error.status)
}
