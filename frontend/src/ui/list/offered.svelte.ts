import type { Choices } from '../../state/intents'
import type { Machine } from '../../wire/gen'
import type { Screens } from '../app.svelte'
import type { NewDraft } from './newdraft.svelte'

/** What a form for a new session or job can choose from, on the machine that its draft names. */
export class Offered {
  choices = $state.raw<Choices | null>(null)
  /** Where else it can be made; none without the hub. */
  machines = $state.raw<readonly Machine[]>([])
  /** Whether the hub has answered with them: until then they are those of the time before. */
  fresh = $state(false)
  /** Why there are no choices. */
  problem = $state('')
  /** The chosen machine; undefined for the hub. */
  readonly machine = $derived.by(() => this.machines.find(({ id }) => id === this.draft.fields.machine)?.id)

  constructor(
    private readonly app: Screens,
    private readonly draft: NewDraft,
  ) {}

  /** Asks the hub; until it answers they are those that the device has from before. */
  load = async (): Promise<void> => {
    this.problem = ''
    const kept = this.app.hub.lastChoices().then(
      (last) => (this.choices ??= last),
      () => null,
    )
    try {
      const own = await this.app.hub.choices()
      this.machines = own.machines ?? []
      this.choices = this.machine
        ? await this.app.hub.ask<Choices>('GET', `/api/agents?machine=${this.machine}`)
        : own
      this.fresh = true
    } catch (error) {
      if (!(await kept)) this.problem = (error as Error).message
    }
  }
}
