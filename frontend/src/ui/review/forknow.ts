import type { Screens } from '../app.svelte'

/** Forks a session from an event, in its own folder and with its agent, and goes to the fork. */
export async function forkNow(app: Screens, id: string, seq: number): Promise<void> {
  try {
    const made = await (await app.hub.review()).fork(id, { seq }, crypto.randomUUID())
    app.router.go(`/s/${made.session_id}`)
  } catch (error) {
    const text = t`Not forked: ${(error as Error).message}`
    app.store.dispatch({ kind: 'problem', sessionId: id, text })
  }
}
