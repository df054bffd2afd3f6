import type { Comment, CommentList, Preview, Reviews } from '../state/reviews'
import type { SessionInfo } from '../wire/gen'
import type { PageKey } from './page'

type Call = <T>(
  method: string,
  path: string,
  body?: unknown,
  ended?: AbortSignal,
  headers?: Record<string, string>,
) => Promise<T>

const session = (id: string) => `/api/sessions/${encodeURIComponent(id)}`

/** What a review asks the hub for over HTTP. */
export function reviews(call: Call, page: PageKey): Reviews {
  const one = (id: string, comment: string) => `${session(id)}/comments/${encodeURIComponent(comment)}`
  return {
    comments: (id) => call<CommentList>('GET', `${session(id)}/comments`),
    comment: (id, from_seq, to_seq, text, key) =>
      call<Comment>('POST', `${session(id)}/comments`, { from_seq, to_seq, text }, undefined, {
        'Idempotency-Key': key,
      }),
    resolve: (id, comment, resolved) => call<Comment>('PATCH', one(id, comment), { resolved }),
    remove: (id, comment) => call('DELETE', one(id, comment)),
    fork: (id, seq, key) =>
      call<SessionInfo>('POST', `${session(id)}/fork`, { seq }, undefined, { 'Idempotency-Key': key }),
    preview: (id) => call<Preview>('GET', `${session(id)}/export?redact=preview`),
    async export(id, format, redact) {
      await call('GET', session(id)) // so that the page's token is a good one
      const query = new URLSearchParams({ format, redact: redact.join(',') })
      const headers: Record<string, string> = page.token === '' ? {} : { 'Abide-Page': page.token }
      const response = await fetch(`${session(id)}/export?${query}`, { headers })
      if (!response.ok) throw new Error(`The hub answered ${response.status}.`)
      return response.blob()
    },
  }
}
