import type { NewSession } from '../../wire/gen'
import { keepsDraft, loadDraft, saveDraft } from '../session/drafts'
import { fingerprint } from '../session/fingerprint'

/** Stands where a session's id would, which it never is: ids begin with a date. */
export const newDraftId = 'new'
/** To write down a text longer than this takes long enough to be felt at each key. */
const longText = 10_000
/** How much of the writing of a long text may be lost with the page. */
const laterMs = 500

/** Of the form of a new job. */
export const jobDraftId = 'job'
const names = ['machine', 'agent', 'workspace', 'name', 'prompt', 'mode', 'model'] as const
const jobNames = [
  ...(['preset', 'minutes', 'rounds', 'tokens', 'park', 'auto', 'here'] as const),
  ...(['silent', 'cost', 'events', 'output', 'auditor', 'retention', 'attempts', 'others'] as const),
  ...(['repeat', 'every', 'unit', 'cron', 'overlap', 'until'] as const),
]

/** A person's input for a new session or job; untouched fields are absent. */
export type NewFields = Partial<Record<(typeof names)[number] | (typeof jobNames)[number], string>>

/** The form of a new session or job, kept on this device until there is that session; shared between a person's tabs. */
export class NewDraft {
  fields = $state.raw<NewFields>({})
  /** Whether the device has it as it is now, also after the page. */
  kept = $state(true)

  /** The form's id from the first Start until its session is there. */
  private called = ''
  /** While a long text is still to be written down. */
  private later: ReturnType<typeof setTimeout> | undefined

  constructor(private readonly id = newDraftId) {
    this.follow(loadDraft(id))
    this.kept = keepsDraft(id)
  }

  write(change: NewFields): void {
    this.fields = { ...this.fields, ...change }
    if ((this.fields.prompt?.length ?? 0) > longText) this.later ??= setTimeout(this.flush, laterMs)
    else this.save()
  }

  /** Takes over another tab's text. */
  follow(text: string): void {
    clearTimeout(this.later)
    this.later = undefined
    this.kept = true
    const { called, ...fields } = parse(text)
    this.called = called ?? ''
    this.fields = fields
  }

  /**
   * The request's id for the hub: the same at each Start, also after a reload, so that a repeat
   * after a lost answer makes no second session and no second prompt; another once anything of it
   * is another.
   */
  key({ machine, agent, workspace, name, prompt, mode, model, worktree }: NewSession): string {
    const more = [
      ...(machine ? [{ machine }] : []),
      ...(mode || model ? [mode, model] : []),
      ...(worktree ? [worktree] : []),
    ]
    return this.keyOf([agent, workspace, name, prompt, ...more])
  }

  /** The same for any request. */
  keyOf(request: unknown): string {
    if (this.called === '') this.called = crypto.randomUUID()
    this.save() // before anything is sent by it
    return `${this.called}.${fingerprint(JSON.stringify(request))}`
  }

  /** The form is hidden; its text is kept. Without text, the next Start makes another session. */
  leave(): void {
    if (!this.fields.prompt?.trim()) this.called = ''
    this.save()
  }

  /** Its session is there. */
  clear(): void {
    this.fields = {}
    this.called = ''
    this.save()
  }

  /** Writes pending changes: the page may be at its end. */
  flush = (): void => {
    if (this.later !== undefined) this.save()
  }

  private save(): void {
    clearTimeout(this.later)
    this.later = undefined
    const said = Object.values(this.fields).some((value) => value !== '')
    const text = said || this.called ? JSON.stringify({ ...this.fields, called: this.called }) : ''
    this.kept = saveDraft(this.id, text)
  }
}

/** The device's copy, from any tab. */
function parse(text: string): NewFields & { called?: string } {
  try {
    const kept: unknown = JSON.parse(text)
    const known: readonly string[] = [...names, ...jobNames, 'called']
    return Object.fromEntries(
      Object.entries(kept ?? {}).filter(([key, value]) => known.includes(key) && typeof value === 'string'),
    )
  } catch {
    return {}
  }
}
