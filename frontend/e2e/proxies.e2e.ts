// A session read and answered through each kind of proxy: what comes through, and what is said where something does not.
import { describe, expect, test } from 'vitest'
import { Browser, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { freePort, has, installed, Middleman, type Manner } from './rig/middleman.ts'
import { expectWhole } from './rig/oracle.ts'
import { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { elapse, until } from './rig/until.ts'

/** Times are measured by make soak, on its own. */
const soak = process.env['ABIDE_SOAK'] !== undefined
const within = soak ? 10_000 : 60_000
const says = 'A proxy blocks WebSocket: using HTTP.'

const kinds: { name: string; manner: Manner; socket: boolean }[] = [
  { name: 'refuses upgrades', manner: { upgrade: 'refused' }, socket: false },
  { name: 'never answers upgrades', manner: { upgrade: 'unanswered' }, socket: false },
  {
    name: 'refuses upgrades and holds answers back',
    manner: { upgrade: 'refused', holds: true },
    socket: false,
  },
  { name: 'holds answers back', manner: { holds: true }, socket: true },
  { name: 'cuts what is idle for 5 s', manner: { idleMs: 5_000 }, socket: true },
]

/** The turns of a session on a phone that reaches its hub at this origin. */
async function through(hub: Hub, origin: string, socket: boolean, idle = false): Promise<void> {
  const mobile = await Device.pair(hub, { origin, size: phone })
  const began = Date.now()
  const id = await hub.newSession('Through')
  await hub.turn(id, '/burst 300')
  const screen = await mobile.watch(id, phone)
  const told = screen.page.getByText(says)
  if (!socket) {
    await told.waitFor({ timeout: soak ? 15_000 - (Date.now() - began) : 60_000 })
    await shot(screen, 'no-websocket-390')
  }
  await screen.prompt('/ask')
  await screen.permission.waitFor()
  await screen.answer('Allow once')
  const asked = await hub.event(
    id,
    'turn_end',
    hub.events(id).findLast((e) => e.type === 'permission_outcome')?.seq,
  )
  await screen.reaches(id, asked.seq, within)
  await until('the state of a turn that is over', async () => (await screen.facts()).turn === 'idle')
  // Mode and options, which the agent tells once it ran.
  await screen.page
    .getByRole('button', { name: /Ask|Auto/ })
    .first()
    .click()
  const options = screen.page.getByRole('dialog', { name: 'Mode and options' })
  await options.getByRole('combobox', { name: 'Mode', exact: true }).selectOption('auto')
  expect((await hub.event(id, 'mode', asked.seq)).data.mode_id).toBe('auto')
  await options.getByRole('combobox', { name: 'Model', exact: true }).selectOption({ label: 'Hasty' })
  await hub.event(id, 'config', asked.seq)
  await screen.page.keyboard.press('Escape')
  // What others do arrives, also after a time in which nothing came.
  if (idle) await elapse(7_000)
  await hub.turn(id, '/slow 30')
  await screen.prompt('/slow 3')
  await until('the last turn', async () => hub.events(id).filter((e) => e.type === 'turn_end').length === 4)
  await screen.reaches(id, hub.lastSeq(id), within)
  await expectWhole(screen, hub, id)
  expect(hub.events(id).filter((e) => e.type === 'user_prompt')).toHaveLength(4)
  await expect.poll(() => told.isVisible()).toBe(!socket)
  expect(screen.errors).toEqual([])
  await mobile.stop()
}

describe.each(kinds)('through a proxy that $name', ({ manner, socket }) => {
  test('a session is asked, answered and set, and nothing is missing', async () => {
    const proxy = await Middleman.start(manner)
    const hub = await Hub.start({ publicNames: [proxy.addr] })
    proxy.to(hub.addr)
    try {
      await through(hub, proxy.origin, socket, manner.idleMs !== undefined)
    } finally {
      await proxy.stop()
      expect(await hub.stop()).toBe(0)
    }
  })
})

const nginx = (port: number, hub: string, location: string) => `
pid FOLDER/pid; error_log FOLDER/error; daemon off;
events {}
http {
  access_log off;
  client_body_temp_path FOLDER/body; proxy_temp_path FOLDER/proxy;
  fastcgi_temp_path FOLDER/fastcgi; uwsgi_temp_path FOLDER/uwsgi; scgi_temp_path FOLDER/scgi;
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://${hub}; proxy_set_header Host $http_host; ${location} }
  }
}`
const upgrades =
  'proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;'

describe('through the proxies of the system', () => {
  test.each([
    { name: 'nginx as it comes', program: 'nginx' as const, location: '', socket: false },
    { name: 'nginx that passes upgrades', program: 'nginx' as const, location: upgrades, socket: true },
    { name: 'Caddy', program: 'caddy' as const, location: '', socket: true },
  ])('$name', async ({ program, location, socket }) => {
    if (!has(program))
      return console.warn(`skipped: ${program} is not installed (apt-get install ${program})`)
    const port = await freePort()
    const hub = await Hub.start({ publicNames: [`127.0.0.1:${port}`] })
    const config =
      program === 'nginx'
        ? nginx(port, hub.addr, location)
        : `{\n  admin off\n  auto_https off\n}\nhttp://127.0.0.1:${port} {\n  reverse_proxy ${hub.addr}\n}\n`
    const proxy = await installed(program, config, port)
    try {
      await through(hub, `http://127.0.0.1:${port}`, socket)
    } finally {
      await proxy.stop()
      expect(await hub.stop()).toBe(0)
    }
  })
})

test('below a path of a host the page says that it has to be at the root', async () => {
  const proxy = await Middleman.start({ below: '/agents' })
  const hub = await Hub.start({ publicNames: [proxy.addr] })
  proxy.to(hub.addr)
  const browser = await Browser.start(phone)
  for (const path of ['/agents/', '/agents/settings']) {
    const screen = await Screen.open(await browser.window(phone), proxy.origin + path)
    await screen.page.getByRole('img', { name: /cannot be shown here: .* root of a host/ }).waitFor()
    await shot(screen, 'below-a-path-390')
    await screen.page.close()
  }
  await browser.stop()
  await proxy.stop()
  expect(await hub.stop()).toBe(0)
})
