// Takes the pictures of README and docs, and every other screen to look at.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser, desktop, phone, type Size } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { Screen } from './rig/screen.ts'

/** Every screen, size and theme goes here; nothing of it is kept. */
const all = resolve(import.meta.dirname, '../test-results/screens')
/** What the docs show. */
const kept = resolve(import.meta.dirname, '../../docs/images')
const keep = new Set([
  'session-desktop',
  'session-desktop-dark',
  'session-phone',
  'permission-phone',
  'permission-phone-dark',
  'sessions-phone',
])
const most = 200 * 1024

const sizes: [string, Size][] = [
  ['desktop', desktop],
  ['phone', phone],
]

describe('pictures', () => {
  let hub: Hub
  let device: Device
  let stranger: Browser
  const sessions: Record<string, string> = {}

  beforeAll(async () => {
    hub = await Hub.start({ folder: 'uploader' })
    writeFileSync(
      join(hub.workspace, 'README.md'),
      '# uploader\n\nSends files, and tries again when the network does not.\n',
    )
    device = await Device.pair(hub)
    stranger = await Browser.start()
    await ended('Explain the retry loop', 'Explain how the retry loop backs off')
    await ended('Markdown', '/markdown')
    await ended('Add a greeting', 'Add a greeting to the project and check that nothing broke')
    sessions['running'] = await hub.newSession('Port the importer', 'paced')
    await hub.prompt(sessions['running'], '/slow 3600')
    sessions['waiting'] = await hub.newSession('Stop on 401')
    await hub.prompt(sessions['waiting'], 'Do the same for the uploader, and stop on 401')
    await hub.event(sessions['waiting'], 'permission_request')
    await hub.prompt(sessions['waiting'], 'Then write a line for the changelog')
  })
  afterAll(async () => {
    await stranger.stop()
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })

  /** A session whose turn is over, its permission given. */
  async function ended(name: string, prompt: string): Promise<void> {
    const id = (sessions[name] = await hub.newSession(name))
    await hub.prompt(id, prompt)
    if (!prompt.startsWith('/')) {
      await hub.event(id, 'permission_request')
      const screen = await device.watch(id)
      await screen.answer('Allow once')
      await hub.event(id, 'turn_end')
      await screen.page.close()
    }
    await hub.event(id, 'turn_end')
    await hub.idle(id)
  }

  async function take(
    name: string,
    path: string,
    ready: (s: Screen) => Promise<unknown>,
    on = device.browser,
  ) {
    for (const [place, size] of sizes) {
      const page = await on.window(size)
      await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
      const screen = await Screen.open(page, device.origin + path)
      // The docs look the same wherever these fonts are; elsewhere the system's serve.
      await page.evaluate(() => {
        document.documentElement.style.setProperty('--sans', "Inter, 'Noto Sans', system-ui, sans-serif")
        document.documentElement.style.setProperty(
          '--mono',
          "'JetBrains Mono', 'DejaVu Sans Mono', monospace",
        )
      })
      await ready(screen)
      for (const theme of ['', '-dark']) {
        await page.emulateMedia({ colorScheme: theme ? 'dark' : 'light', reducedMotion: 'reduce' })
        await shoot(page, `${name}-${place}${theme}`)
      }
      await page.close()
    }
  }

  async function shoot(page: Page, name: string): Promise<void> {
    await page.mouse.move(0, 0)
    await page.evaluate(() => document.fonts.ready)
    const png = await page.screenshot({ animations: 'disabled', caret: 'hide' })
    mkdirSync(all, { recursive: true })
    writeFileSync(join(all, `${name}.png`), png)
    if (!keep.has(name)) return
    expect(png.length, `${name}.png is for the repository`).toBeLessThan(most)
    mkdirSync(kept, { recursive: true })
    writeFileSync(join(kept, `${name}.png`), png)
  }

  const atEnd = (session: string) => async (s: Screen) => {
    await s.reaches(session, hub.lastSeq(session))
    await s.page.waitForFunction(() => !document.querySelector('.prose.plain'))
  }

  test('of a session', async () => {
    const id = sessions['Add a greeting']!
    await take('session', `/s/${id}`, atEnd(id))
  })
  test('of markdown', async () => {
    const id = sessions['Markdown']!
    await take('markdown', `/s/${id}`, atEnd(id))
  })
  test('of a permission request', async () => {
    const id = sessions['waiting']!
    await take('permission', `/s/${id}`, async (s) => {
      await s.permission.locator('[data-option]:enabled').first().waitFor()
    })
  })
  test('of an agent at work', () =>
    take('running', `/s/${sessions['running']}`, (s) =>
      s.page.getByRole('button', { name: 'Stop' }).waitFor(),
    ))
  test('of the list', () => take('sessions', '/', (s) => s.page.getByText('Needs you').first().waitFor()))
  test('of a new session', () =>
    take('new', '/', async (s) => {
      await s.page.getByRole('button', { name: 'New session' }).first().click()
      await s.page.getByRole('dialog').getByLabel('First prompt').waitFor()
    }))
  test('of the menu', async () => {
    const id = sessions['Add a greeting']!
    await take('menu', `/s/${id}`, async (s) => {
      await atEnd(id)(s)
      await s.page.getByRole('button', { name: 'More' }).click()
    })
  })
  test('of the settings', () =>
    take('settings', '/settings', (s) => s.page.getByText('This device may').waitFor()))
  test('of the door', () =>
    take('door', '/', (s) => s.page.getByText('Pair this device').waitFor(), stranger))
  test('of a session that is no more', () =>
    take('gone', '/s/gone', (s) => s.page.getByText('no more').waitFor()))
})
