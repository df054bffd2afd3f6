// A hub in memory, so that the app runs without a backend.
// It implements the part of the protocol that this app uses.
import { createHash } from 'node:crypto'
import { WebSocketServer } from 'ws'
import { sessions as fixtures, tour } from './script.mjs'

const limits = { max_frame: 1048576, max_page: 500, max_queue: 10, max_attachment: 26214400, trash_days: 0 }

/** The body of a request as bytes. */
async function bodyOf(request) {
  const parts = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts)
}

const isJSON = (request) => (request.headers['content-type'] ?? '').startsWith('application/json')

class MockSession {
  constructor(fixture, hub) {
    Object.assign(this, {
      id: fixture.id,
      hub,
      events: [],
      clients: new Map(),
      queue: [],
      turn: 0,
      pending: [],
      running: false,
      agent: 'ready',
      options: [
        {
          id: 'model',
          name: 'Model',
          type: 'select',
          currentValue: 'steady',
          options: [
            { value: 'steady', name: 'Steady' },
            { value: 'hasty', name: 'Hasty' },
          ],
        },
        { id: 'verbose', name: 'Verbose', type: 'boolean', currentValue: false },
      ],
      rules: [],
      blobs: new Map(),
    })
    this.info = {
      session_id: fixture.id,
      name: fixture.name ?? '',
      agent: fixture.agent,
      workspace: fixture.workspace,
      created_at: new Date().toISOString(),
      updated_at: fixture.at ?? new Date().toISOString(),
      status: fixture.status ?? 'idle',
      event_count: 0,
      min_seq: 1,
      max_seq: 0,
      epoch: '0123456789abcdef',
      archived: false,
      pinned: fixture.pinned ?? false,
      last_line: fixture.last ?? '',
    }
    this.append('session_start', {
      format: 1,
      session_id: this.id,
      epoch: this.info.epoch,
      agent: fixture.agent,
      workspace: fixture.workspace,
      git: { branch: 'main' },
    })
    this.append('agent_started', { agent: fixture.agent, pid: 4711, name: fixture.agent, version: '1.0' })
    this.append('commands', {
      commands: [
        { name: 'plan', description: 'Make a plan first' },
        { name: 'review', description: 'Review the changes so far', hint: 'what to look at' },
      ],
    })
    this.append('mode', {
      mode_id: 'code',
      modes: [
        { id: 'code', name: 'Code' },
        { id: 'plan', name: 'Plan' },
      ],
    })
    this.append('config', { options: this.options })
  }

  append(type, data) {
    const event = {
      seq: this.events.length + 1,
      time: new Date().toISOString(),
      type,
      turn: this.turn || undefined,
      data,
    }
    this.events.push(event)
    Object.assign(this.info, { event_count: event.seq, max_seq: event.seq, updated_at: event.time })
    for (const client of this.clients.keys()) this.send(client, [event])
    return event
  }

  send(client, events) {
    if (events.length === 0) return
    client.frame({
      type: 'events',
      session_id: this.id,
      epoch: this.info.epoch,
      first_seq: events[0].seq,
      last_seq: events.at(-1).seq,
      max_seq: this.info.max_seq,
      events,
    })
  }

  observe(client, { request_id, after_seq, epoch, tail = 50 }) {
    const fits = after_seq === undefined || (epoch === this.info.epoch && after_seq <= this.info.max_seq)
    const events = after_seq !== undefined && fits ? [] : this.events.slice(-tail)
    const last = events.at(-1)?.seq ?? after_seq ?? 0
    client.frame({
      type: 'events_loaded',
      request_id,
      session_id: this.id,
      verdict: fits ? 'ok' : 'reset',
      reason: fits ? undefined : 'epoch',
      epoch: this.info.epoch,
      first_seq: events[0]?.seq ?? last + 1,
      last_seq: last,
      min_seq: 1,
      max_seq: this.info.max_seq,
      has_more: (events[0]?.seq ?? 1) > 1,
      prepend: false,
      events,
    })
    this.clients.set(client, true)
    this.state()
    this.send(client, this.events.slice(last))
  }

  page(client, { request_id, after_seq, before_seq, limit = 50 }) {
    const events =
      before_seq !== undefined
        ? this.events.slice(Math.max(0, before_seq - 1 - limit), before_seq - 1)
        : this.events.slice(after_seq, after_seq + limit)
    const last = events.at(-1)?.seq ?? 0
    client.frame({
      type: 'events_loaded',
      request_id,
      session_id: this.id,
      verdict: 'ok',
      epoch: this.info.epoch,
      first_seq: events[0]?.seq ?? 1,
      last_seq: last,
      min_seq: 1,
      max_seq: this.info.max_seq,
      has_more: before_seq !== undefined ? (events[0]?.seq ?? 1) > 1 : last < this.info.max_seq,
      prepend: before_seq !== undefined,
      events,
    })
  }

  state() {
    const observers = [...this.clients.keys()].map((c) => ({
      client_id: c.id,
      actor: c.actor,
      activity: c.activity,
      seq: this.info.max_seq,
    }))
    const frame = {
      type: 'state',
      session_id: this.id,
      at_seq: this.info.max_seq,
      turn: this.running
        ? {
            state: this.cancelling ? 'cancelling' : 'prompting',
            number: this.turn,
            prompt_id: this.promptId,
            since: this.since,
          }
        : { state: 'idle' },
      pending_permissions: this.pending.map((p) => p.permission_id),
      queue: this.queue,
      agent: { name: this.info.agent, status: this.agent, version: '1.0' },
      observers,
    }
    for (const client of this.clients.keys()) client.frame(frame)
    this.info.status =
      this.pending.length > 0
        ? 'needs_you'
        : this.running
          ? 'running'
          : this.info.status === 'ended'
            ? 'ended'
            : 'idle'
    this.hub.everyone({ type: 'session', session: this.info })
  }

  /** Stores a file under the hash of its bytes. */
  attach(name, media_type, bytes) {
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    this.blobs.set(sha256, { media_type, bytes })
    return { name, media_type, bytes: bytes.length, sha256 }
  }

  rule({ scope, effect, kind, title }) {
    const created_at = new Date().toISOString()
    const rule = { id: `r${created_at}`, scope, effect, kind, title, created_by: 'owner', created_at }
    this.rules.push(rule)
    return rule
  }

  restart() {
    if (this.running) this.cancel()
    this.agent = 'starting'
    this.state()
    setTimeout(() => {
      this.agent = 'ready'
      this.append('agent_started', {
        agent: this.info.agent,
        pid: 4712,
        name: this.info.agent,
        version: '1.0',
      })
      this.state()
    }, 600)
  }

  prompt(client, { request_id, prompt_id, text, when, attachments, scheduled_at }) {
    const head = { request_id, session_id: this.id, prompt_id }
    const known = this.events.find((e) => e.type === 'user_prompt' && e.data.prompt_id === prompt_id)
    if (known) return client.frame({ type: 'prompt_received', ...head, seq: known.seq })
    if (this.running || when === 'queue' || scheduled_at) {
      if (!this.queue.some((q) => q.prompt_id === prompt_id))
        this.queue.push({
          prompt_id,
          text,
          attachments,
          scheduled_at,
          actor: 'owner',
          queued_at: new Date().toISOString(),
        })
      client.frame({ type: 'prompt_queued', ...head, position: this.queue.length - 1 })
      return this.state()
    }
    const event = this.start({ prompt_id, text, attachments })
    client.frame({ type: 'prompt_received', ...head, seq: event.seq })
  }

  start({ prompt_id, text, attachments, queued_at }) {
    this.turn++
    Object.assign(this, {
      running: true,
      cancelling: false,
      promptId: prompt_id,
      since: new Date().toISOString(),
    })
    if (!this.info.name) this.info.name = text.slice(0, 60)
    const event = this.append('user_prompt', { prompt_id, text, attachments, actor: 'owner', queued_at })
    this.append('turn_start', { prompt_id })
    this.state()
    void this.run(text)
    return event
  }

  async run(text) {
    const wait = () => new Promise((done) => setTimeout(done, this.hub.pace))
    for (const [type, data] of text.startsWith('/burst')
      ? burst(Number(text.split(' ')[1] ?? 2000))
      : tour(this.turn)) {
      if (this.cancelling) break
      if (type === 'ask') {
        const answer = await this.ask(data)
        if (answer !== 'once' && answer !== 'always') break
      } else this.append(type, data)
      if (this.hub.pace > 0 && !text.startsWith('/burst')) await wait()
    }
    this.end(this.cancelling ? 'cancelled' : 'end_turn')
  }

  ask(data) {
    this.append('permission_request', data)
    return new Promise((answered) => {
      this.pending.push({ ...data, answered })
      this.state()
    })
  }

  answer(client, { request_id, permission_id, option_id }) {
    const asked = this.pending.find((p) => p.permission_id === permission_id)
    if (!asked)
      return client.frame({
        type: 'error',
        request_id,
        code: 'already_resolved',
        message: 'the question is already answered',
      })
    this.pending = this.pending.filter((p) => p !== asked)
    this.append('permission_outcome', { permission_id, outcome: 'selected', option_id, by: 'owner' })
    client.frame({
      type: 'permission_resolved',
      request_id,
      session_id: this.id,
      permission_id,
      outcome: 'selected',
      option_id,
      by: 'owner',
    })
    this.state()
    asked.answered(option_id)
  }

  cancel() {
    this.cancelling = true
    for (const p of this.pending.splice(0)) {
      this.append('permission_outcome', { permission_id: p.permission_id, outcome: 'cancelled', by: 'hub' })
      p.answered('cancelled')
    }
    this.state()
  }

  end(stop_reason) {
    this.running = false
    this.append('turn_end', { prompt_id: this.promptId, stop_reason, usage: { totalTokens: 12_431 } })
    const said = this.events.findLast((e) => e.type === 'agent_message')
    this.info.last_line = said ? 'The retry loop waited longer and longer in step.' : ''
    this.state()
    const due = this.queue.findIndex((q) => !(Date.parse(q.scheduled_at) > Date.now()))
    if (due >= 0) this.start(this.queue.splice(due, 1)[0])
  }

  edit(frame) {
    const at = this.queue.findIndex((q) => q.prompt_id === frame.prompt_id)
    if (frame.type === 'queue_clear') this.queue = []
    else if (at >= 0 && frame.type === 'queue_remove') this.queue.splice(at, 1)
    else if (at >= 0 && frame.type === 'queue_edit') this.queue[at].text = frame.text
    else if (at >= 0) this.queue.splice(frame.position, 0, ...this.queue.splice(at, 1))
    this.state()
  }
}

function* burst(n) {
  for (let i = 0; i < n; i++)
    yield [
      'agent_message',
      { message_id: `b${Math.floor(i / 40)}`, text: `word ${i} ` + (i % 10 === 9 ? '\n\n' : '') },
    ]
}

/** Answers the /api requests and WebSockets of an HTTP server. */
export class MockHub {
  constructor({ pace = 25 } = {}) {
    Object.assign(this, {
      pace,
      sessions: new Map(),
      clients: new Set(),
      paired: true,
      devices: ['Chrome on Linux', 'Safari on iPhone'].map((name, i) => ({
        id: `d${i}`,
        kind: 'device',
        name,
        scope: 'owner',
        created_at: new Date().toISOString(),
        current: i === 0,
      })),
      version: 'mock',
      protocol: 1,
      sockets: new WebSocketServer({ noServer: true }),
    })
    fixtures.forEach((fixture, i) => {
      const session = new MockSession(fixture, this)
      session.info.updated_at = new Date(Date.now() - i ** 3 * 1_800_000).toISOString()
      this.sessions.set(fixture.id, session)
      if (fixture.turns) this.replay(session)
      if (fixture.ask) {
        session.turn = 1
        session.running = true
        session.since = new Date(Date.now() - 95_000).toISOString()
        session.append('user_prompt', {
          prompt_id: 'p1',
          text: 'The old config format is gone since 2.0. Remove its reader and the tests for it.',
          actor: 'owner',
        })
        session.append('agent_message', {
          message_id: 'm',
          text: 'Nothing imports `internal/config/v1` any more. I would remove the folder as a whole.',
        })
        const tool_call = {
          toolCallId: 'rm',
          title: 'rm -r internal/config/v1',
          kind: 'execute',
          rawInput: { command: 'rm -r internal/config/v1 && go build ./...', cwd: fixture.workspace },
        }
        session.append('tool_call', {
          tool_call_id: 'rm',
          title: tool_call.title,
          kind: 'execute',
          status: 'pending',
          raw_input: tool_call.rawInput,
        })
        void session
          .ask({
            permission_id: 'perm-rm',
            tool_call_id: 'rm',
            title: 'Run a command',
            options: [
              { option_id: 'once', name: 'Allow once', kind: 'allow_once' },
              { option_id: 'always', name: 'Always allow rm', kind: 'allow_always' },
              { option_id: 'no', name: 'Reject', kind: 'reject_once' },
            ],
            tool_call,
          })
          .then(() => session.end('end_turn'))
      }
    })
  }

  replay(session) {
    session.turn = 1
    session.append('user_prompt', {
      prompt_id: 'p1',
      text: 'After an outage all clients reconnect in the same second. Make the retries spread out.',
      actor: 'owner',
    })
    for (const [type, data] of tour(1)) {
      session.append(type === 'ask' ? 'permission_request' : type, data)
      if (type === 'ask')
        session.append('permission_outcome', {
          permission_id: data.permission_id,
          outcome: 'selected',
          option_id: 'once',
          by: 'phone',
        })
    }
    session.append('turn_end', { prompt_id: 'p1', stop_reason: 'end_turn', usage: { totalTokens: 12_431 } })
    session.info.last_line = 'The retry loop waited longer and longer in step.'
  }

  everyone(frame) {
    for (const client of this.clients) client.frame(frame)
  }

  upgrade(request, socket, head) {
    const url = new URL(request.url, 'http://mock')
    if (!url.pathname.startsWith('/api/')) return false
    const id = /^\/api\/sessions\/([\w-]+)\/ws$/.exec(url.pathname)?.[1]
    if (!this.paired || (id && !this.sessions.has(id))) {
      socket.end(`HTTP/1.1 ${this.paired ? 404 : 401} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
      return true
    }
    this.sockets.handleUpgrade(request, socket, head, (ws) => this.accept(ws, id, url.searchParams))
    return true
  }

  accept(ws, id, query) {
    const client = {
      id: Math.random().toString(36).slice(2),
      actor: 'owner',
      activity: 'viewing',
      frame: (frame) => ws.send(JSON.stringify(frame)),
    }
    this.clients.add(client)
    client.frame({
      type: 'connected',
      protocol: this.protocol,
      version: this.version,
      hub_id: 'mock',
      client_id: client.id,
      heartbeat_ms: 10_000,
      limits,
      scope: 'owner',
      time: new Date().toISOString(),
    })
    const number = (name) => (query.has(name) ? Number(query.get(name)) : undefined)
    if (id)
      this.sessions
        .get(id)
        .observe(client, { after_seq: number('after_seq'), epoch: query.get('epoch'), tail: number('tail') })
    const heartbeat = setInterval(() => client.frame({ type: 'heartbeat', max_seq: {} }), 10_000)
    ws.on('message', (data) => this.frame(client, JSON.parse(String(data))))
    ws.on('close', () => {
      clearInterval(heartbeat)
      this.clients.delete(client)
      for (const session of this.sessions.values()) if (session.clients.delete(client)) session.state()
    })
  }

  frame(client, frame) {
    if (frame.type === 'ping')
      return client.frame({ type: 'pong', nonce: frame.nonce, time: new Date().toISOString(), max_seq: {} })
    const session = this.sessions.get(frame.session_id)
    if (!session)
      return client.frame({
        type: 'session_gone',
        request_id: frame.request_id,
        session_id: frame.session_id,
      })
    switch (frame.type) {
      case 'observe':
        return session.observe(client, frame)
      case 'unobserve':
        return session.clients.delete(client) && session.state()
      case 'load_events':
        return session.page(client, frame)
      case 'prompt':
        return session.prompt(client, frame)
      case 'permission_answer':
        return session.answer(client, frame)
      case 'cancel':
      case 'force_reset':
        return session.cancel()
      case 'restart_agent':
        return session.restart()
      case 'set_mode':
        return session.append('mode', { mode_id: frame.mode_id })
      case 'set_config_option':
        session.options = session.options.map((o) =>
          o.id === frame.config_id ? { ...o, currentValue: frame.value } : o,
        )
        return session.append('config', { options: session.options })
      case 'presence':
        client.activity = frame.activity
        return session.state()
      case 'queue_edit':
      case 'queue_move':
      case 'queue_remove':
      case 'queue_clear':
        return session.edit(frame)
    }
  }

  /** Searches two sessions per call. The real hub joins chunks first; this searches each event alone. */
  found(query) {
    const text = query.get('q').trim().toLowerCase()
    const from = Number(query.get('cursor') || 0)
    const all = [...this.sessions.values()]
    const hits = all.slice(from, from + 2).flatMap(({ id, info, events }) =>
      events.toReversed().flatMap(({ seq, type, time, data }) => {
        const said = ['user_prompt', 'agent_message', 'tool_call'].includes(type) && (data.text ?? data.title)
        const at = said ? said.toLowerCase().indexOf(text) : -1
        if (at < 0) return []
        const start = Math.max(0, at - 80)
        const snippet = said.slice(start, at + text.length + 80)
        const ranges = [[at - start, at - start + text.length]]
        return [{ session_id: id, name: info.name, seq, type, time, snippet, ranges }]
      }),
    )
    const left = Math.max(0, all.length - from - 2)
    const next_cursor = left > 0 ? String(from + 2) : undefined
    return { hits, next_cursor, searched: 0, sessions: all.length, sessions_left: left, done: left === 0 }
  }

  /** Answers a request under /api; returns false for any other. */
  async request(request, response) {
    const url = new URL(request.url, 'http://mock')
    if (!url.pathname.startsWith('/api/')) return false
    const reply = (status, value) => {
      response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
      response.end(value === undefined ? '' : JSON.stringify(value))
      return true
    }
    const bytes = await bodyOf(request)
    const body = isJSON(request) && bytes.length > 0 ? JSON.parse(String(bytes)) : {}
    if (url.pathname === '/api/pair') {
      if (body.code !== 'letmein')
        return reply(401, {
          error: {
            code: 'unauthorized',
            message: 'that code is not valid any more; run abide pair for a new one',
          },
        })
      this.paired = true
      return reply(200, { page: { token: 'mock' } })
    }
    if (!this.paired) return reply(401, { error: { code: 'unauthorized', message: 'no credential' } })
    const id = /^\/api\/sessions\/([\w-]+)/.exec(url.pathname)?.[1]
    const session = id && this.sessions.get(id)
    if (id && !session)
      return reply(404, { error: { code: 'not_found', message: 'there is no such session' } })
    if (url.pathname.endsWith('/events')) {
      const after = Number(url.searchParams.get('after_seq') ?? 0)
      const { epoch, max_seq } = session.info
      const events = session.events.slice(after, after + Number(url.searchParams.get('limit') ?? 50))
      const last_seq = events.at(-1)?.seq ?? after
      const has_more = last_seq < max_seq
      return reply(200, { verdict: 'ok', epoch, min_seq: 1, max_seq, last_seq, has_more, events })
    }
    const part = id && url.pathname.slice(`/api/sessions/${id}/`.length)
    if (part === 'attachments' && request.method === 'POST') {
      if (bytes.length > limits.max_attachment)
        return reply(413, { error: { code: 'invalid', message: 'the file is larger than 25 MB' } })
      return reply(201, session.attach(url.searchParams.get('name'), request.headers['content-type'], bytes))
    }
    if (part?.endsWith('/address')) {
      return reply(200, { address: url.pathname.slice(0, -'/address'.length) })
    }
    if (part?.startsWith('blobs/')) {
      const blob = session.blobs.get(part.slice('blobs/'.length))
      if (!blob) return reply(404, { error: { code: 'not_found', message: 'there is no such blob' } })
      response.writeHead(200, { 'Content-Type': blob.media_type, 'X-Content-Type-Options': 'nosniff' })
      response.end(blob.bytes)
      return true
    }
    if (part === 'rules' && request.method === 'GET') return reply(200, { rules: session.rules })
    if (part === 'rules' && request.method === 'POST') return reply(201, session.rule(body))
    if (part?.startsWith('rules/') && request.method === 'DELETE') {
      session.rules = session.rules.filter((rule) => rule.id !== part.slice('rules/'.length))
      return reply(204)
    }
    if (session && request.method === 'PATCH') Object.assign(session.info, body)
    if (session && request.method === 'DELETE') {
      this.sessions.delete(id)
      this.everyone({ type: 'session_gone', session_id: id })
      return reply(204)
    }
    if (session) return reply(200, session.info)
    if (url.pathname === '/api/sessions' && request.method === 'POST') {
      const key = request.headers['idempotency-key'] ?? crypto.randomUUID()
      const known = [...this.sessions.values()].find((s) => s.key === key)
      if (known) return reply(201, known.info)
      const { prompt, ...fixture } = body
      const made = new MockSession(
        { id: `20260222-100000-${Math.random().toString(16).slice(2, 10)}`, ...fixture },
        this,
      )
      made.key = key
      this.sessions.set(made.id, made)
      if (prompt) made.start({ prompt_id: key, text: prompt })
      this.everyone({ type: 'session', session: made.info })
      return reply(201, made.info)
    }
    if (url.pathname === '/api/sessions')
      return reply(200, { sessions: [...this.sessions.values()].map((s) => s.info) })
    if (url.pathname === '/api/agents')
      return reply(200, {
        agents: [
          { name: 'demo', description: 'The built-in demo agent' },
          { name: 'claude' },
          { name: 'opencode' },
        ],
        workspaces: ['/home/dev/src'],
        default_workspace: '/home/dev/src/ferry',
      })
    if (url.pathname === '/api/agents/setup')
      return reply(200, {
        configured: [{ name: 'demo', command: 'built in, to try abide without a model', built_in: true }],
        known: [
          {
            name: 'gemini',
            title: 'Gemini CLI',
            command: ['gemini', '--acp'],
            program: '/usr/local/bin/gemini',
            install: 'npm install -g @google/gemini-cli',
          },
        ],
        file: '~/.config/abide/config.yaml',
      })
    const device = /^\/api\/devices\/(\w+)$/.exec(url.pathname)?.[1]
    if (device && request.method === 'PATCH') {
      return reply(200, Object.assign(this.devices.find((d) => d.id === device) ?? {}, body))
    }
    if (device && request.method === 'DELETE') {
      this.devices = this.devices.filter((d) => d.id !== device)
      return reply(204)
    }
    if (url.pathname === '/api/devices') return reply(200, { devices: this.devices })
    if (url.pathname === '/api/search') return reply(200, this.found(url.searchParams))
    if (url.pathname === '/api/health') return reply(200, { status: 'ok' })
    return reply(404, { error: { code: 'not_found', message: 'the mock hub has no such route' } })
  }
}
