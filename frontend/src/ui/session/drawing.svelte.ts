import { tick, untrack } from 'svelte'
import { openPermissions } from '../../state/select'
import type { SessionState } from '../../state/session'
import type { Screens } from '../app.svelte'
import { calmed } from '../calm'
import { bodied, loadBodies } from '../feed/body'
import { loadPermission, markdown } from '../lazy'
import { ahead } from '../parts/ahead'
import { loadAsked } from './asking'

/** The loader of a question's sheet. */
export const sheetOf = (form: boolean) => (form ? loadAsked : loadPermission)

/** Loads the parts of a session: those of a question that is open, then those of its feed. */
export class Drawing {
  /** A question's sheet has its parts: it is in the page before the feed, which loads the parser of Markdown. */
  asked = $state(false)
  /** The feed has its parts: it comes with them, and then stays. */
  done = $state(false)

  constructor(app: Screens, session: () => SessionState | undefined) {
    const ready = $derived(session()?.status === 'ready')
    $effect(() => {
      if (!this.done && ready && app.framed) void untrack(() => this.load(session()!))
    })
    $effect(() => {
      if (session()?.shut || session()?.status === 'gone') calmed()
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

  private async load(session: SessionState): Promise<void> {
    const [asked] = openPermissions(session)
    // The sheet says itself that it could not be loaded.
    if (asked) await ahead(sheetOf(asked.ask?.form !== undefined)).catch(() => {})
    this.asked = true
    if (asked) await tick()
    calmed()
    // Where the network died meanwhile, a part may never come: the feed shows its text without.
    const late = new Promise((resolve) => setTimeout(resolve, 4_000))
    await Promise.race([
      late,
      Promise.all([markdown.load().catch(() => {}), bodied(session.feed.items) && loadBodies()]),
    ])
    this.done = true
  }
}
