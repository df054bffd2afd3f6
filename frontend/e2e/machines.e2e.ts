// A second hub joins the hub of the device: its sessions are used at home.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Hub } from './rig/hub.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { until } from './rig/until.ts'

const sizes = [
  { width: 390, height: 844 },
  { width: 1280, height: 800 },
]

describe('a session of a machine', () => {
  const at = paired()
  let laptop: Hub
  let session: string
  beforeAll(async () => {
    laptop = await Hub.start()
    const { url } = await at.hub.api<{ url: string }>('POST', '/api/machines/links', {})
    await laptop.api('POST', '/api/home', { link: url, name: 'laptop', allow: 'act' })
    session = await laptop.newSession('On the laptop')
    await laptop.turn(session, '/slow 1')
    await at.hub.newSession('At home')
  })
  afterAll(() => laptop.stop())
  
  test.each(sizes)('is listed, opened, prompted and answered at home, on $width × $height', async (size) => {
    const list = await at.device.open('/', size)
    await list.page.getByText(/^laptop · work/).waitFor()
    await shot(list, `machines-list-${size.width}`)
    const screen = await at.device.watch(session, size)
    const before = laptop.lastSeq(session)
    await screen.prompt('/ask')
    await screen.permission.waitFor()
    await shot(screen, `machines-question-${size.width}`)
    await screen.permission.locator('[data-option]').first().click()
    await laptop.event(session, 'turn_end', before)
    await screen.reaches(session, laptop.lastSeq(session))
    await shot(screen, `machines-session-${size.width}`)
  })

  test('can be read while its machine is away, and the list says so', async () => {
    const last = laptop.lastSeq(session)
    const list = await at.device.open('/', sizes[0])
    const whole = readFileSync(join(laptop.data, 'sessions', session, 'events.jsonl'), 'utf8')
    await laptop.stop()
    await list.page.getByText(/^laptop \(away\) · work/).waitFor()
    await shot(list, 'machines-away-list')
    const screen = await at.device.watch(session, sizes[0])
    await screen.reaches(session, last)
    await shot(screen, 'machines-away-session')
    const { machines } = await at.hub.api<{ machines: { id: string }[] }>('GET', '/api/machines')
    const copy = join(at.hub.data, 'copies', machines[0]!.id, session, 'events.jsonl')
    await until('the copy has the beginning of its log', () =>
      Promise.resolve(whole.startsWith(readFileSync(copy, 'utf8'))),
    )
    expect(readFileSync(copy, 'utf8').length).toBeGreaterThan(1000)
  })
})
