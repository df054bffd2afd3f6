import type { OutboxFile } from '../state/outboxitem'
import type {
  Attachment,
  Code,
  Device,
  Devices,
  EventsLoadedMessage,
  FoundPage,
  NewSession,
  Offer,
  Overview,
  PageProof,
  PageToken,
  Pair,
  Paired,
  Refusal as HubRefusal,
  Refused,
  Resume,
  Rule,
  Rules,
  SessionInfo,
  SessionPage,
  SessionPatch,
  SignedAddress,
  Winner,
} from '../wire/gen'
import type { Choices, Narrow } from '../state/intents'
import type { Files } from '../state/files'
import type { Reviews } from '../state/reviews'
import type { Refusal } from './machine'
import type { PageKey } from './page'

/** A request the hub refused, or that did not reach it (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: Code | 'unreachable',
    message: string,
    /** What is to be confirmed. */
    readonly needs: readonly string[] = [],
    /** What of the request's body it is about. */
    readonly field?: string,
    /** The answer that came first. */
    readonly winner?: Winner,
  ) {
    super(message)
  }
}

/** The time limit of a request. A pooled connection from before a sleep would hang for minutes. */
const timeoutMs = 15_000
/** A hub that is up answers sooner, also when it is busy. */
const readyMs = 3_000
/** The hub's signed addresses last ten minutes. */
const addressMs = 8 * 60_000
/** The time limit for 4 MB over a slow link. */
const blobMs = 60_000
/** The time limit for 25 MB over a slow link. */
const uploadMs = 300_000

/** A refusal of the hub, or of something before it, which says less. */
type Why = Partial<HubRefusal>

const unreachable = () => new ApiError(0, 'unreachable', t`The hub cannot be reached.`)

function refused(text: string): Why {
  return (parse(text) as Partial<Refused> | null)?.error ?? {}
}

function parse(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    return null
  }
}

/** Whether it is the hub's own word, not that of something before it, that there is no such thing. */
const isGone = (error: unknown) => error instanceof ApiError && error.code === 'not_found'

const session = (id: string) => `/api/sessions/${encodeURIComponent(id)}`

/** A request with headers that can be added to. */
type Sent = RequestInit & { headers?: Record<string, string> }

/** Ends with a signal, and at the time limit of a request. */
const withLimit = (ended: AbortSignal) => AbortSignal.any([ended, AbortSignal.timeout(timeoutMs)])

const lostKey = t`This browser’s data was cleared. Pair it again.`

function apiError(status: number, { code, message, needs, field, winner }: Why): ApiError {
  return new ApiError(
    status,
    code ?? 'internal',
    message ?? t`The hub answered ${status}.`,
    needs,
    field,
    winner,
  )
}

async function send(path: string, request: Sent, token = ''): Promise<Response> {
  const headers = token === '' ? request.headers : { ...request.headers, 'Abide-Page': token }
  return reached(fetch(path, { ...request, headers }))
}

/** A connection that breaks, also amid an answer, is one error. */
function reached<T>(came: Promise<T>): Promise<T> {
  return came.catch(() => {
    throw unreachable()
  })
}

const textOf = (response: Response) => reached(response.text())

/**
 * The requests to the hub over HTTP, by a page that has the second half of its credential from
 * `page`.
 */
export function hubAPI(page: PageKey) {
  let proving: Promise<boolean> | null = null
  const addresses = new Map<string, { address: string; until: number }>()

  async function call<T>(
    method: string,
    path: string,
    body?: unknown,
    signal = AbortSignal.timeout(timeoutMs),
    headers?: Record<string, string>,
  ): Promise<T> {
    return answer<T>(path, {
      method,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json', ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    })
  }

  async function answer<T>(path: string, request: Sent): Promise<T> {
    return parse(await words(path, request)) as T
  }

  const words = async (path: string, request: Sent) => textOf(await respond(path, request))

  /** The hub's answer, unchanged. A challenge is answered first, and the request sent again. */
  async function respond(path: string, request: Sent): Promise<Response> {
    const token = page.token
    const first = await send(path, request, token)
    if (first.ok) return first
    const { challenge, ...why } = refused(await textOf(first))
    if (challenge === undefined) throw apiError(first.status, why)
    // Another tab may have the hub's answer to a challenge already.
    if (page.token === token) await (proving ??= prove(challenge).finally(() => (proving = null)))
    const again = await send(path, request, page.token)
    if (again.ok) return again
    const still = refused(await textOf(again))
    // The hub was restarted meanwhile. That does not sign this browser out.
    throw still.challenge === undefined ? apiError(again.status, still) : unreachable()
  }

  /** Signs a challenge and takes the token that the hub gives for it. */
  async function prove(challenge: string): Promise<boolean> {
    const signature = await page.sign(challenge)
    if (signature === null) throw new ApiError(401, 'unauthorized', lostKey)
    const proof: PageProof = { challenge, signature }
    const answer = await send('/api/page', {
      method: 'POST',
      body: JSON.stringify(proof),
      headers: { 'Content-Type': 'application/json' },
      signal: AbortSignal.timeout(timeoutMs),
    })
    const text = await textOf(answer)
    if (!answer.ok) {
      const why = refused(text)
      throw why.challenge === undefined ? apiError(answer.status, why) : unreachable()
    }
    page.take(parse(text) as PageToken)
    return true
  }

  return {
    /** A request of a part that is loaded on its own. */
    ask: call,
    respond,

    /** Every session, also those put away: all pages, newest first. */
    async sessions(): Promise<SessionInfo[]> {
      const all: SessionInfo[] = []
      let next = ''
      do {
        const page = await call<SessionPage>(
          'GET',
          `/api/sessions?status=all&limit=200${next && `&cursor=${encodeURIComponent(next)}`}`,
        )
        all.push(...page.sessions)
        next = page.next_cursor ?? ''
      } while (next !== '')
      return all
    },

    async session(id: string): Promise<SessionInfo> {
      return call('GET', session(id))
    },

    /** Whether the hub itself says that there is no such session; false while it does not say. */
    async gone(id: string): Promise<boolean> {
      return call('GET', session(id)).then(() => false, isGone)
    },

    /** Makes a session and asks its prompt: once, however often it is sent with this key. */
    async create(request: NewSession, key: string): Promise<SessionInfo> {
      return call('POST', '/api/sessions', request, undefined, { 'Idempotency-Key': key })
    },

    async update(id: string, change: SessionPatch): Promise<SessionInfo> {
      return call('PATCH', session(id), change)
    },

    /** Deletes a session. A session that does not exist, as after a lost answer, counts as deleted. */
    async remove(id: string): Promise<void> {
      try {
        await call('DELETE', session(id))
      } catch (error) {
        if (!isGone(error)) throw error
      }
    },

    async end(id: string, dropQueue: boolean): Promise<SessionInfo> {
      return call('POST', `${session(id)}/end`, dropQueue ? { drop_queue: true } : undefined)
    },

    async interruption(id: string): Promise<Offer> {
      return call('GET', `${session(id)}/interruption`)
    },

    async resume(id: string, how: Resume): Promise<void> {
      await call('POST', `${session(id)}/resume`, how)
    },

    async dismiss(id: string, interruption_id: string): Promise<void> {
      await call('POST', `${session(id)}/dismiss`, { interruption_id })
    },

    async reopen(id: string): Promise<SessionInfo> {
      return call('POST', `${session(id)}/reopen`)
    },

    async answers(): Promise<boolean> {
      return call('GET', '/api/ready', undefined, AbortSignal.timeout(readyMs)).then(
        () => true,
        () => false,
      )
    },

    /** One event as the hub keeps it, with everything the agent said. */
    async event(id: string, seq: number): Promise<unknown> {
      const page = await call<{ events?: unknown[] }>(
        'GET',
        `${session(id)}/events?after_seq=${seq - 1}&limit=1`,
      )
      return page.events?.[0]
    },

    /** A page of events after a seq, at most 500, as they are or with runs of chunks merged; `ended` takes it back. */
    async events(
      id: string,
      after: number,
      limit: number,
      ended: AbortSignal,
      merge = true,
    ): Promise<EventsLoadedMessage> {
      const query = `after_seq=${after}&limit=${limit}&merge=${merge}`
      return call('GET', `${session(id)}/events?${query}`, undefined, withLimit(ended))
    },

    /** The requests of a review to the hub; loaded with the first review. */
    async review(): Promise<Reviews> {
      return (await import('./later')).reviews(call, respond)
    },

    async overview(id: string): Promise<Overview> {
      return call('GET', `${session(id)}/overview`)
    },

    /** Stores a file of a prompt; the same bytes again are the same file. */
    async attach(id: string, file: OutboxFile): Promise<Attachment> {
      return answer(`${session(id)}/attachments?name=${encodeURIComponent(file.name)}`, {
        method: 'POST',
        headers: { 'Content-Type': file.blob.type || 'application/octet-stream' },
        body: file.blob,
        signal: AbortSignal.timeout(uploadMs),
      })
    },

    async rules(id: string): Promise<readonly Rule[]> {
      return (await call<Rules>('GET', `${session(id)}/rules`)).rules
    },

    /** One page of a search in sessions, or only in one; `ended` takes the request back. */
    async search(text: string, cursor: string, ended: AbortSignal, narrow: Narrow = {}): Promise<FoundPage> {
      return call(
        'GET',
        `/api/search?${new URLSearchParams({ q: text, cursor, ...narrow })}`,
        undefined,
        withLimit(ended),
      )
    },

    /** A value that was too large for its event, as text. */
    async blob(id: string, sha256: string): Promise<string> {
      return words(`${session(id)}/blobs/${encodeURIComponent(sha256)}`, {
        signal: AbortSignal.timeout(blobMs),
      })
    },

    /**
     * The address of an image or a download of a blob, valid for some minutes: neither can carry a
     * request's headers.
     */
    async blobAddress(id: string, sha256: string): Promise<string> {
      const path = `${session(id)}/blobs/${encodeURIComponent(sha256)}`
      const known = addresses.get(path)
      if (known && Date.now() < known.until) return known.address
      const { address } = await call<SignedAddress>('POST', `${path}/address`)
      addresses.set(path, { address, until: Date.now() + addressMs })
      return address
    },

    files: (): Promise<Files> => import('./later').then(({ filesAPI }) => filesAPI(call, respond)),

    choices(): Promise<Choices> {
      return call('GET', '/api/agents')
    },

    async devices(): Promise<readonly Device[]> {
      return (await call<Devices>('GET', '/api/devices')).devices
    },

    async pair(code: string, device: string): Promise<void> {
      const { key, publicKey } = await page.make()
      const body: Pair = { code, device, page_key: publicKey }
      const answer = await call<Paired>('POST', '/api/pair', body)
      await page.adopt(key, answer.page)
    },

    /** Asks for another token before this one ends. */
    async renew(): Promise<void> {
      const { challenge } = refused(
        await textOf(await send('/api/health', { signal: AbortSignal.timeout(timeoutMs) })),
      )
      if (challenge !== undefined) await prove(challenge)
    },

    /**
     * Why a dial failed: a refusal and the hub's words for it, 'well' if the hub answers, or null if it cannot be
     * reached.
     */
    async refusal(): Promise<{ refusal: Refusal; why: string } | 'well' | null> {
      try {
        await call('GET', '/api/health')
        return 'well'
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        if (error.status === 401) return { refusal: 'unauthorized', why: error.message }
        if (error.status === 403 || error.status === 421) return { refusal: 'forbidden', why: error.message }
      }
      return null
    },
  }
}

export type HubAPI = ReturnType<typeof hubAPI>
