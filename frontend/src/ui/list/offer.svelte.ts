import type { SessionInfo } from '../../wire/gen'
import type { Screens } from '../app.svelte'

/** The sessions that are offered to be resumed, from the first list until the person goes elsewhere. */
export class Offer {
  private ids = $state.raw<readonly string[]>()
  /** Those that can still be resumed. */
  readonly now: readonly SessionInfo[]

  constructor(app: Screens, all: () => readonly SessionInfo[]) {
    this.now = $derived(all().filter((s) => s.resumable && this.ids?.includes(s.session_id)))
    $effect(() => {
      if (app.router.route.screen !== 'sessions') this.dismiss()
      else if (app.state.listed)
        this.ids ??= all()
          .filter((s) => s.resumable && !s.archived)
          .map((s) => s.session_id)
    })
  }

  dismiss = (): void => {
    this.ids = []
  }
}
