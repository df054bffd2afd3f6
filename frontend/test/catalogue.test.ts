import { describe, expect, it } from 'vitest'
import { stateOf, states } from '../dev/catalogue/states'
import type { AppState } from '../src/state/app'
import type { LinkState } from '../src/state/link'
import type { OutboxStatus } from '../src/state/outboxitem'
import { rowsOf } from '../src/state/rows'
import { openPermissions } from '../src/state/select'
import type { AgentStatus, TurnState } from '../src/wire/gen'
import { sessionId } from './support/script'

const held = (name: string) => stateOf(states.find((s) => s.name === name)!).sessions.get(sessionId)!

describe('the catalogue', () => {
  it('names each state once', () => {
    expect(new Set(states.map((s) => s.name)).size).toBe(states.length)
  })

  it.each(states.map((s) => [s.name, s] as const))('%s is reached by its messages', (_, state) => {
    expect(() => stateOf(state)).not.toThrow()
  })

  it('shows each kind of row', () => {
    const kinds = states.flatMap((state) => {
      const session = stateOf(state).sessions.get(sessionId)
      return session ? rowsOf(session.feed).map((r) => (r.kind === 'item' ? r.item.kind : r.kind)) : []
    })
    expect([...new Set(kinds)].sort()).toEqual([
      'content',
      'event',
      'group',
      'permission',
      'plan',
      'prompt',
      'terminal',
      'text',
      'tool',
      'turn_end',
      'unknown',
    ])
  })

  it('shows every condition of the agent, the turn, the connection and the outbox', () => {
    const all = states.map(stateOf)
    const of = <T extends string>(each: (state: AppState) => T | readonly T[]) =>
      [...new Set(all.flatMap(each))].sort()
    const live = (state: AppState) => state.sessions.get(sessionId)?.live
    const agents: AgentStatus[] = ['absent', 'failed', 'ready', 'starting', 'stopping']
    const turns: TurnState[] = ['blocked', 'cancelling', 'idle', 'prompting', 'starting']
    const phases: LinkState['phase'][] = ['checking', 'dialling', 'offline', 'open', 'refused', 'waiting']
    const refusals: LinkState['refusal'][] = ['forbidden', 'unauthorized', 'version']
    const items: OutboxStatus[] = ['failed', 'queued', 'sending']
    expect(of((s) => live(s)?.agent.status ?? [])).toEqual(agents)
    expect(of((s) => live(s)?.turn.state ?? [])).toEqual(turns)
    expect(of((s) => [s.link.phase])).toEqual(phases)
    expect(of((s) => s.link.refusal ?? [])).toEqual(refusals)
    expect(of((s) => [...s.outbox.values()].map((o) => o.status))).toEqual(items)
  })

  it('has states that are what their names say', () => {
    expect(held('question').status).toBe('ready')
    expect(openPermissions(held('question')).map((p) => p.permissionId)).toEqual(['perm-edit-1'])
    expect(openPermissions(held('question with a form'))[0]?.ask?.form).toBeDefined()
    expect(held('session, replaced').reset).toEqual({ reason: 'epoch' })
    expect(held('session, behind').held.length).toBe(1)
    expect(held('session, gone').status).toBe('gone')
    expect(held('queue').live?.queue.length).toBe(3)
  })
})
