import { counted } from '../../text/counted'
import type { SessionInfo } from '../../wire/gen'
import type { Screens } from '../app.svelte'

const title = (info: SessionInfo) => `“${info.name || t`Untitled session`}”`

/**
 * The actions of a menu, a swipe and a selection on sessions. A failure is told on any screen that
 * the person is on by then.
 */
export class Deeds {
  constructor(private readonly app: Screens) {}

  /** Tells the outcome for a session later, when the menu is gone. */
  report(info: SessionInfo, what: string): void {
    this.app.store.dispatch({ kind: 'problem', sessionId: info.session_id, text: `${title(info)} ${what}` })
  }

  pin(info: SessionInfo, pinned = !info.pinned): Promise<boolean> {
    return this.change(info, { pinned }, pinned ? t`was not pinned` : t`was not unpinned`)
  }

  markResumable(info: SessionInfo, resumable: boolean): Promise<boolean> {
    return this.change(info, { resumable }, t`was not marked`)
  }

  /** Archives sessions, or takes them out, and offers the way back. */
  async archive(infos: readonly SessionInfo[], archived = !infos[0]?.archived): Promise<void> {
    const done: SessionInfo[] = []
    for (const info of infos) {
      const failed = archived ? t`was not archived` : t`was not unarchived`
      if (await this.change(info, { archived }, failed)) done.push(info)
    }
    if (done.length === 0) return
    const what = done.length === 1 ? title(done[0]!) : t`${done.length} sessions`
    this.app.say(`${archived ? t`Archived` : t`Unarchived`} ${what}.`, async () => {
      for (const { session_id } of done) await this.app.hub.update(session_id, { archived: !archived })
    })
    if (archived) this.leave(done)
    if (archived && done.length === 1) this.askOfCopy(done[0]!)
  }

  async end(info: SessionInfo, dropQueue = false): Promise<void> {
    try {
      await this.app.hub.end(info.session_id, dropQueue)
      this.askOfCopy(info)
    } catch (error) {
      this.report(info, t`was not ended: ${(error as Error).message}`)
    }
  }

  /** Starts the agent again by a way; the next prompt tells it the session. */
  async bringBack(info: SessionInfo, way: string): Promise<void> {
    try {
      await this.app.hub.resume(info.session_id, { way })
      this.app.say(t`The next prompt tells a new agent session this one.`)
    } catch (error) {
      this.report(info, t`was not resumed: ${(error as Error).message}`)
    }
  }

  /** Stops a session's work until it is resumed, and offers the way back. */
  async pause(info: SessionInfo): Promise<void> {
    try {
      await this.app.hub.ask('POST', `/api/sessions/${encodeURIComponent(info.session_id)}/pause`)
      this.app.say(t`Paused ${title(info)}.`)
    } catch (error) {
      this.report(info, t`was not paused: ${(error as Error).message}`)
    }
  }

  /**
   * Resumes interrupted turns, each with the hub's defaults. One that needs a decision first (other settings,
   * a changed folder) is left for its own card.
   */
  async resume(infos: readonly SessionInfo[]): Promise<void> {
    let resumed = 0
    const left: string[] = []
    for (const info of infos) {
      try {
        const offer = await this.app.hub.interruption(info.session_id).catch((error: unknown) => {
          if (info.status === 'interrupted') throw error
          return null // no turn was cut off
        })
        if (!offer) {
          await this.app.hub.resume(info.session_id, { way: 'auto' })
          resumed++
          continue
        }
        const decide = offer.stale || offer.mismatch.length > 0 || offer.drift.length > 0
        if (decide || !offer.ways.some((way) => way.available)) left.push(title(info))
        else {
          const { interruption_id } = offer
          await this.app.hub.resume(info.session_id, { interruption_id, way: 'auto' })
          resumed++
        }
      } catch (error) {
        this.report(info, t`was not resumed: ${(error as Error).message}`)
      }
    }
    const said = resumed > 0 ? t`Resumed ${counted(resumed, t`session`, t`sessions`)}.` : ''
    const rest = left.length > 0 ? t`Open to decide: ${left.join(', ')}.` : ''
    if (said || rest) this.app.say(`${said} ${rest}`.trim())
  }

  async reopen(info: SessionInfo): Promise<void> {
    try {
      await this.app.hub.reopen(info.session_id)
    } catch (error) {
      this.report(info, t`was not opened: ${(error as Error).message}`)
    }
  }

  /** For how many days a deleted session can be restored; 0 deletes it for good. */
  private get trash(): number {
    return this.app.state.hub?.limits.trash_days ?? 0
  }

  /** What is asked before sessions are deleted, and what the act is called. */
  asking(count = 1): { question: string; act: string } {
    const what = count === 1 ? t`this session` : t`${count} sessions`
    return this.trash > 0
      ? {
          question: t`Delete ${what}? For ${counted(this.trash, t`day`, t`days`)} Settings can restore it.`,
          act: t`Delete`,
        }
      : { question: t`Delete ${what} for good?`, act: t`Delete for good` }
  }

  /** Deletes a session, and offers the way back. The error's text is for the person. */
  async remove(info: SessionInfo): Promise<void> {
    await this.app.hub.remove(info.session_id)
    this.deleted([info])
    this.leave([info])
    this.askOfCopy(info)
  }

  /** Deletes sessions, and offers the way back. Failures are reported. */
  async removeAll(infos: readonly SessionInfo[]): Promise<void> {
    const done: SessionInfo[] = []
    for (const info of infos)
      try {
        await this.app.hub.remove(info.session_id)
        done.push(info)
      } catch (error) {
        this.report(info, t`was not deleted: ${(error as Error).message}`)
      }
    this.deleted(done)
    this.leave(done)
  }

  private deleted(done: readonly SessionInfo[]): void {
    if (done.length === 0) return
    const what = done.length === 1 ? title(done[0]!) : t`${done.length} sessions`
    const restore = async () => {
      for (const { session_id } of done)
        await this.app.hub.ask('POST', `/api/trash/${encodeURIComponent(session_id)}/restore`)
    }
    this.app.say(t`Deleted ${what}.`, this.trash > 0 ? restore : undefined)
  }

  /** Asks what becomes of the working copy of a session that needs it no more. */
  private askOfCopy({ worktree }: SessionInfo): void {
    if (!worktree?.branch || (this.app.state.hub?.scope ?? 'owner') !== 'owner') return
    this.app.leftCopy = { folder: worktree.folder }
    this.app.overlay = 'copy'
  }

  /**
   * Goes to the list from a session that is not in it any more. A person who went to another screen
   * meanwhile stays there.
   */
  private leave(infos: readonly SessionInfo[]): void {
    const { route } = this.app.router
    if (route.screen === 'session' && infos.some((info) => info.session_id === route.id))
      this.app.router.go('/', true)
  }

  private async change(
    info: SessionInfo,
    to: { pinned?: boolean; archived?: boolean; resumable?: boolean },
    failed: string,
  ): Promise<boolean> {
    try {
      await this.app.hub.update(info.session_id, to)
      return true
    } catch (error) {
      this.report(info, `${failed}: ${(error as Error).message}`)
      return false
    }
  }
}
