import type { Part, Reviews } from '../state/reviews'
import type { Comment, CommentList, ExportPreview, NewFork, SessionInfo, SignedAddress } from '../wire/gen'

type Call = <T>(
  method: string,
  path: string,
  body?: unknown,
  ended?: AbortSignal,
  headers?: Record<string, string>,
) => Promise<T>

/** The hub's answer as it is; rejects a refusal. */
type Respond = (
  path: string,
  request: RequestInit & { headers?: Record<string, string> },
) => Promise<Response>

const session = (id: string) => `/api/sessions/${encodeURIComponent(id)}`

const query = (fields: Part & { format?: string; redact?: string }) =>
  new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)])).toString()

/** The requests of a review to the hub over HTTP. */
export function reviews(call: Call, respond: Respond): Reviews {
  const one = (id: string, comment: string) => `${session(id)}/comments/${encodeURIComponent(comment)}`
  return {
    comments: (id) => call<CommentList>('GET', `${session(id)}/comments`),
    comment: (id, comment, key) =>
      call<Comment>('POST', `${session(id)}/comments`, comment, undefined, {
        'Idempotency-Key': key,
      }),
    change: (id, comment, to) => call<Comment>('PATCH', one(id, comment), to),
    remove: (id, comment) => call('DELETE', one(id, comment)),
    fork: (id, fork: NewFork, key) =>
      call<SessionInfo>('POST', `${session(id)}/fork`, fork, undefined, { 'Idempotency-Key': key }),
    // Without a time limit: an archive may be gigabytes.
    bring: async (file) =>
      (await (
        await respond('/api/import', {
          method: 'POST',
          body: file,
          headers: { 'Content-Type': 'application/octet-stream' },
        })
      ).json()) as SessionInfo,
    preview: (id, part) => call<ExportPreview>('GET', `${session(id)}/export?redact=preview&${query(part)}`),
    // The browser fetches it by itself, and writes it to the disk.
    async exportAddress(id, format, redact, part) {
      const { address } = await call<SignedAddress>('POST', `${session(id)}/export/address`)
      return `${address}&${query({ ...part, format, redact: redact.join(',') })}`
    },
  }
}
