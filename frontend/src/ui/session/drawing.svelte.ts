import { untrack } from 'svelte'
import type { SessionState } from '../../state/session'
import type { Screens } from '../app.svelte'
import { bodied, loadBodies } from '../feed/body'
import { loadAsked } from './asking'

/** Loads the parts of a session's feed. */
export class Drawing {
  /** The feed has its parts: it comes with them, and then stays. */
  done = $state(false)

  constructor(app: Screens, session: () => SessionState | undefined) {
    const ready = $derived(session()?.status === 'ready')
    $effect(() => {
      if (this.done || !ready || !app.framed) return
      if (bodied(untrack(() => session()!.feed.items))) void loadBodies().then(() => (this.done = true))
      else this.done = true
    })
    $effect(() => {
      if (!ready) return
      // A question and a call must not wait for their parts of the app, nor miss them while the network is away.
      const timer = setTimeout(() => {
        void loadAsked().catch(() => {})
        void loadBodies()
      }, 2_000)
      return () => clearTimeout(timer)
    })
  }
}
