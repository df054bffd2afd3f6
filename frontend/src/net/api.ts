import type { OutboxFile } from '../state/outboxitem'
import type { Attachment, Code, EventsLoadedMessage, SessionInfo } from '../wire/gen'
import type { AgentChoice, Choices, NewSession } from '../state/intents'
import type { Device } from '../state/devices'
import type { NewRule, Rule } from '../state/rules'
import type { FoundPage } from '../state/search'
import type { Refusal } from './machine'

/** A request the hub refused, or that did not reach it (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: Code | 'unreachable',
    message: string,
  ) {
    super(message)
  }
}

/** A pooled connection that slept hangs for minutes; no request may. */
const timeoutMs = 15_000
/** A hub that is there says so sooner, whatever else it does. */
const readyMs = 3_000
/** 4 MB over a poor link take this long. */
const blobMs = 60_000
/** 25 MB over a poor link take this long. */
const uploadMs = 300_000

async function call<T>(
  method: string,
  path: string,
  body?: unknown,
  ended?: AbortSignal,
  headers?: HeadersInit,
): Promise<T> {
  const timeout = AbortSignal.timeout(timeoutMs)
  return answer<T>(path, {
    method,
    headers: body === undefined ? {} : { 'Content-Type': 'application/json', ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: ended ? AbortSignal.any([ended, timeout]) : timeout,
  })
}

async function answer<T>(path: string, request: RequestInit): Promise<T> {
  return parse(await words(path, request)) as T
}

/** What the hub answers, as it is. */
async function words(path: string, request: RequestInit): Promise<string> {
  let response: Response
  let text: string
  try {
    response = await fetch(path, request)
    text = await response.text()
  } catch {
    throw new ApiError(0, 'unreachable', 'The hub cannot be reached.')
  }
  if (!response.ok) {
    const error = (parse(text) as { error?: { code?: Code; message?: string } } | null)?.error
    throw new ApiError(
      response.status,
      error?.code ?? 'internal',
      error?.message ?? `The hub answered ${response.status}.`,
    )
  }
  return text
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

const device = (id: string) => `/api/devices/${encodeURIComponent(id)}`

export const api = {
  /** Every session, also those put away: all pages, newest first. */
  async sessions(): Promise<SessionInfo[]> {
    const all: SessionInfo[] = []
    let next = ''
    do {
      const page = await call<{ sessions?: SessionInfo[]; next_cursor?: string }>(
        'GET',
        `/api/sessions?status=all&limit=200${next && `&cursor=${encodeURIComponent(next)}`}`,
      )
      all.push(...(page.sessions ?? []))
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

  async update(
    id: string,
    change: { name?: string; pinned?: boolean; archived?: boolean },
  ): Promise<SessionInfo> {
    return call('PATCH', session(id), change)
  },

  /** Deletes it. One that is gone, as by a request whose answer was lost, is deleted. */
  async remove(id: string): Promise<void> {
    try {
      await call('DELETE', session(id))
    } catch (error) {
      if (!isGone(error)) throw error
    }
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

  /** A page of events after a seq, at most 500, runs of chunks merged; `ended` takes the request back. */
  async events(id: string, after: number, limit: number, ended: AbortSignal): Promise<EventsLoadedMessage> {
    const query = `after_seq=${after}&limit=${limit}&merge=true`
    return call('GET', `${session(id)}/events?${query}`, undefined, ended)
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
    return (await call<{ rules?: Rule[] }>('GET', `${session(id)}/rules`)).rules ?? []
  },

  async addRule(id: string, rule: NewRule): Promise<void> {
    await call('POST', `${session(id)}/rules`, rule)
  },

  async revokeRule(id: string, rule: string): Promise<void> {
    await call('DELETE', `${session(id)}/rules/${encodeURIComponent(rule)}`)
  },

  /** One page of a search in what sessions said; `ended` takes the request back. */
  async search(text: string, cursor: string, ended: AbortSignal): Promise<FoundPage> {
    return call('GET', `/api/search?${new URLSearchParams({ q: text, cursor })}`, undefined, ended)
  },

  /** A value that was too large for its event, as text. */
  async blob(id: string, sha256: string): Promise<string> {
    return words(`${session(id)}/blobs/${encodeURIComponent(sha256)}`, {
      signal: AbortSignal.timeout(blobMs),
    })
  },

  blobURL(id: string, sha256: string): string {
    return `${session(id)}/blobs/${sha256}`
  },

  async choices(): Promise<Choices> {
    const answer = await call<{ agents?: AgentChoice[]; workspaces?: string[]; default_workspace?: string }>(
      'GET',
      '/api/agents',
    )
    const workspaces = answer.workspaces ?? []
    return {
      agents: answer.agents ?? [],
      workspaces,
      defaultWorkspace: answer.default_workspace ?? workspaces[0] ?? '',
    }
  },

  async devices(): Promise<readonly Device[]> {
    return (await call<{ devices?: Device[] }>('GET', '/api/devices')).devices ?? []
  },

  async renameDevice(id: string, name: string): Promise<void> {
    await call('PATCH', device(id), { name })
  },

  async revokeDevice(id: string): Promise<void> {
    await call('DELETE', device(id))
  },

  async pair(code: string, device: string): Promise<void> {
    await call('POST', '/api/pair', { code, device })
  },

  /** Why a dial failed: a refusal, or null when trying again may help. */
  async refusal(): Promise<Refusal | null> {
    try {
      await call('GET', '/api/health')
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return 'unauthorized'
      if (error instanceof ApiError && (error.status === 403 || error.status === 421)) return 'forbidden'
    }
    return null
  },
}
