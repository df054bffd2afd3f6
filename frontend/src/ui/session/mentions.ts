import type { Intents } from '../../state/intents'
import type { SessionInfo } from '../../wire/gen'
import type { Offered } from './completion.svelte'

const most = 8

/** The files and sessions that an @ may name, files first. A path with a space, a quote or a control character is quoted. */
export async function mentions(
  hub: Pick<Intents, 'files'>,
  sessionId: string,
  sessions: Iterable<SessionInfo>,
  typed: string,
  ended: AbortSignal,
): Promise<Offered[]> {
  const files = hub
    .files()
    .then((api) => api.complete(sessionId, typed, ended))
    .catch(() => []) // sessions are known here
  const words = typed.toLowerCase().normalize('NFC')
  const named = [...sessions]
    .filter((s) => s.session_id !== sessionId && s.name?.toLowerCase().normalize('NFC').includes(words))
    .slice(0, 3)
    .map((s) => ({ name: s.name, about: 'session', text: `@session:${s.session_id} ` }))
  const paths = (await files).slice(0, most - named.length)
  return [
    ...paths.map((path) => ({
      name: path.slice(path.lastIndexOf('/') + 1),
      about: path,
      text: `@${/[\s"\p{Cc}]/u.test(path) ? JSON.stringify(path) : path} `,
    })),
    ...named,
  ]
}
