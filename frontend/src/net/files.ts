import type { Branch, Completions } from '../wire/gen'
import type { Files } from '../state/files'

/** Asks the hub over HTTP. */
type Call = <T>(method: string, path: string, body?: unknown, ended?: AbortSignal) => Promise<T>

/** The hub's answer as it is; rejects a refusal. */
type Respond = (path: string, request: { headers: Record<string, string> }) => Promise<Response>

/** The hub answers with no more of a file at once. */
const mostAtOnce = 2 << 20

const session = (id: string) => `/api/sessions/${encodeURIComponent(id)}`

export function filesAPI(call: Call, respond: Respond): Files {
  /** The newest question of each of the two lanes. */
  const lanes: Promise<unknown>[] = [Promise.resolve(), Promise.resolve()]
  let asked = 0
  return {
    folders: (path, machine) =>
      call('GET', `/api/folders?path=${encodeURIComponent(path)}${machine ? `&machine=${machine}` : ''}`),
    makeFolder: (path) => call('POST', '/api/folders', { path }),
    list: (id, path) => call('GET', `${session(id)}/files?path=${encodeURIComponent(path)}`),
    changes: (id) => call('GET', `${session(id)}/changes`),
    branch: (id, ended) => {
      const lane = asked++ % lanes.length
      const answer = lanes[lane]!.then(() =>
        ended.aborted ? null : call<Branch>('GET', `${session(id)}/branch`, undefined, ended),
      )
      lanes[lane] = answer.catch(() => {}) // it goes to who asked
      return answer
    },
    change: (id, path) => call('GET', `${session(id)}/change?path=${encodeURIComponent(path)}`),
    read: async (id, path) => {
      const response = await respond(`${session(id)}/file?path=${encodeURIComponent(path)}`, {
        headers: { Range: `bytes=0-${mostAtOnce - 1}` },
      })
      const blob = await response.blob()
      const whole = Number(/\/(\d+)$/.exec(response.headers.get('Content-Range') ?? '')?.[1] ?? blob.size)
      return { blob, size: whole }
    },
    complete: async (id, typed, ended) =>
      (
        await call<Completions>(
          'GET',
          `${session(id)}/complete?q=${encodeURIComponent(typed)}`,
          undefined,
          ended,
        )
      ).paths,
  }
}
