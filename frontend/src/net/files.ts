import type { Files } from '../state/files'

/** Asks the hub over HTTP. */
type Call = <T>(method: string, path: string, body?: unknown, ended?: AbortSignal) => Promise<T>

const session = (id: string) => `/api/sessions/${encodeURIComponent(id)}`

export function filesAPI(call: Call): Files {
  return {
    folders: (path) => call('GET', `/api/folders?path=${encodeURIComponent(path)}`),
    makeFolder: (path) => call('POST', '/api/folders', { path }),
    complete: async (id, typed, ended) =>
      (
        await call<{ paths?: string[] }>(
          'GET',
          `${session(id)}/complete?q=${encodeURIComponent(typed)}`,
          undefined,
          ended,
        )
      ).paths ?? [],
  }
}
