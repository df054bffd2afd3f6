import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { binaries, Hub } from './rig/hub.ts'
import { expectWhole, saidNumbers } from './rig/oracle.ts'
import { Process } from './rig/process.ts'
import type { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

/** A fake editor that speaks the Agent Client Protocol to an agent run by `abide record`. */
class Editor {
  readonly process: Process
  #id = 0
  #session = ''
  heard = ''

  constructor(hub: Hub) {
    const agent = [binaries.abide, 'demo-agent', '--speed', '10']
    this.process = new Process(
      binaries.abide,
      ['record', '--data', hub.data, '--name', 'From the editor', '--agent', 'demo', '--', ...agent],
      { cwd: hub.workspace, env: { ...process.env, XDG_STATE_HOME: hub.home } },
    )
  }

  async begin(cwd: string): Promise<void> {
    await this.#ask('initialize', { protocolVersion: 1, clientCapabilities: {} })
    const began = await this.#ask('session/new', { cwd, mcpServers: [] })
    this.#session = began['sessionId'] as string
  }

  prompt(text: string): Promise<unknown> {
    return this.#ask('session/prompt', { sessionId: this.#session, prompt: [{ type: 'text', text }] })
  }

  /** Ends the turn that runs. */
  cancel(): void {
    const params = { sessionId: this.#session }
    this.process.write(JSON.stringify({ jsonrpc: '2.0', method: 'session/cancel', params }))
  }

  async #ask(method: string, params: unknown): Promise<Record<string, unknown>> {
    const id = ++this.#id
    this.process.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    for (;;) {
      const message = JSON.parse(await this.process.line())
      if (message.id === id) return message.result
      if (message.params?.update?.sessionUpdate === 'agent_message_chunk')
        this.heard += message.params.update.content.text
    }
  }

  async end(): Promise<number | null> {
    this.process.child.stdin!.end()
    return this.process.exited
  }
}

describe('an agent of an editor, recorded', () => {
  let hub: Hub
  let device: Device
  let screens: Screen[]
  let editor: Editor
  let id: string

  beforeAll(async () => {
    hub = await Hub.start()
    device = await Device.pair(hub)
    editor = new Editor(hub)
    await editor.begin(hub.workspace)
    id = await until('the recorded session', async () => {
      const { sessions } = await hub.api<{ sessions: { session_id: string }[] }>('GET', '/api/sessions')
      return sessions[0]?.session_id
    })
    screens = [await device.watch(id), await device.watch(id, phone)]
  })
  afterAll(async () => {
    await device.stop()
    await hub.stop()
  })

  test('is watched live on two screens', async () => {
    const turn = editor.prompt('/slow 3600')
    await until('some of the answer on both screens', async () => {
      const seen = await Promise.all(screens.map((s) => s.facts()))
      return seen.every((f) => f.seq > 30)
    })
    expect(hub.events(id).some((e) => e.type === 'turn_end')).toBe(false)
    editor.cancel()
    await turn
    await hub.event(id, 'turn_end')
    for (const screen of screens) await expectWhole(screen, hub, id)
  })

  test('continues while the hub is down, and no event is missing afterwards', async () => {
    const before = hub.lastSeq(id)
    const turn = editor.prompt('/slow 60')
    await until('the turn to begin', () => hub.lastSeq(id) > before + 20)
    await hub.kill()
    await turn
    expect(editor.process.ended, 'the editor has noticed nothing').toBe(false)
    await hub.start()
    await hub.event(id, 'turn_end', before)
    expect(saidNumbers(hub.events(id)), 'once each').toEqual([...editor.heard.matchAll(/\d+/g)].map(Number))
    for (const screen of screens) await expectWhole(screen, hub, id)
  })

  test('ends its session with the exit code of the agent', async () => {
    expect(await editor.end()).toBe(0)
    await hub.event(id, 'session_end')
    for (const screen of screens) {
      await expectWhole(screen, hub, id)
      await screen.page.getByText('Session ended').first().waitFor()
    }
  })
})
