// The page as an installed app: it can be installed, opens without a network, updates
// to a newer version when a person says so, and its icon shows the number of waiting sessions.
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { preview } from '../dev/preview.mjs'
import { Browser, phone } from './rig/browser.ts'
import { leavings } from './rig/leavings.ts'
import { paired } from './rig/paired.ts'
import { Screen } from './rig/screen.ts'
import { alone, until } from './rig/until.ts'

interface Manifest {
  start_url: string
  display: string
  icons: { src: string; type: string; sizes: string; purpose?: string }[]
}

describe('the app on a phone', () => {
  const at = paired({ size: phone })

  test('can be installed: its manifest names icons of the right type and size', async () => {
    const page = await fetch(`${at.hub.origin}/`)
    const [, href] = /rel="manifest" href="([^"]+)"/.exec(await page.text()) ?? []
    const response = await fetch(at.hub.origin + href)
    expect(response.headers.get('content-type')).toMatch('application/manifest+json')
    const manifest = (await response.json()) as Manifest
    expect(manifest).toMatchObject({ start_url: '/', display: 'standalone' })
    expect(manifest.icons.map((i) => i.sizes)).toEqual(expect.arrayContaining(['192x192', '512x512']))
    expect(manifest.icons.some((i) => i.purpose === 'maskable')).toBe(true)
    for (const icon of manifest.icons) {
      const file = await fetch(at.hub.origin + icon.src)
      expect(file.headers.get('content-type'), icon.src).toMatch(icon.type)
      if (icon.type !== 'image/png') continue
      const png = Buffer.from(await file.arrayBuffer())
      expect(`${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`, icon.src).toBe(icon.sizes)
    }
  })

  test('shows the number of sessions that wait for an answer on its icon, and none after the answer', async () => {
    const page = await at.device.browser.window(phone)
    await page.addInitScript(() => {
      const badges: number[] = []
      const say = (n: number) => (badges.push(n), Promise.resolve())
      Object.assign(window, { badges })
      Object.defineProperty(navigator, 'setAppBadge', { value: say })
      Object.defineProperty(navigator, 'clearAppBadge', { value: () => say(0) })
    })
    const session = await at.hub.newSession('Asks')
    const screen = await Screen.open(page, `${at.device.origin}/s/${session}`)
    await screen.reaches(session, 1)
    const badge = () => page.evaluate(() => (window as unknown as { badges: number[] }).badges.at(-1))
    await until('no badge', async () => (await badge()) === 0)
    await screen.prompt('/ask')
    await until('a badge', async () => (await badge()) === 1)
    await screen.answer('Allow once')
    await until('no badge again', async () => (await badge()) === 0)
    await page.close()
  })

  test('opens while the hub is unreachable, caches nothing of /api, and continues when it is back', async () => {
    const session = await at.hub.newSession('Read in a tunnel')
    await at.hub.turn(session, '/plan')
    const screen = await at.device.watch(session, phone)
    await screen.reaches(session, at.hub.lastSeq(session))
    await alone(screen.page)
    // The event cache is written a moment after the events arrive.
    await screen.page.waitForFunction(
      ([id, seq]) => JSON.parse(localStorage.getItem('abide.cache') ?? '{}')[id]?.last === seq,
      [session, at.hub.lastSeq(session)] as const,
    )
    await at.hub.kill()
    await screen.page.reload()
    await screen.feed.getByText('The plan is done.').waitFor()
    await screen.page.getByRole('button', { name: 'Try now' }).waitFor()
    const kept = await screen.page.evaluate(async () => {
      const all = await Promise.all((await caches.keys()).map(async (k) => (await caches.open(k)).keys()))
      return all.flat().map((request) => new URL(request.url).pathname)
    })
    expect(kept).toContain('/')
    expect(kept.filter((path) => path.startsWith('/api'))).toEqual([])
    await at.hub.start()
    await at.hub.turn(session, '/plan')
    await screen.reaches(session, at.hub.lastSeq(session))
    await screen.page.close()
  })
})

test('a newer version of the app waits until a person accepts it, and keeps the draft', async () => {
  const session = '20260221-140307-9f3a11c0'
  const root = leavings.folder('abide-dist-')
  cpSync(process.env['ABIDE_DIST'] ?? resolve(import.meta.dirname, '../dist'), root, { recursive: true })
  const site = await preview({ root, pace: 0 })
  const browser = await Browser.start(phone)
  const screen = await Screen.open(await browser.window(phone), `${site.url}/s/${session}`)
  await alone(screen.page)
  const worker = join(root, 'sw.js')
  writeFileSync(
    worker,
    readFileSync(worker, 'utf8').replace(/const VERSION = '\w+'/, "const VERSION = 'newer'"),
  )
  await screen.composer.fill('Half a thought')
  await screen.page.reload()
  await screen.page.locator('.strip', { hasText: 'this page is older' }).waitFor()
  const caches = () => screen.page.evaluate(async () => (await window.caches.keys()).sort())
  expect((await caches()).length).toBe(2)
  await screen.page.getByRole('button', { name: 'Reload' }).click()
  await until('the newer one alone', async () => {
    return (await caches().catch(() => [])).join() === 'abide-newer'
  })
  await until('the draft', async () => (await screen.composer.inputValue()) === 'Half a thought')
  await screen.page.locator('.strip').waitFor({ state: 'detached' })
  await browser.stop()
  await site.stop()
})
