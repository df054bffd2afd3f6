// Takes the screenshots for the README and the docs, and screenshots of every other screen to look at.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser, phone, type Size } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { repository } from './rig/git.ts'
import { binaries, Hub } from './rig/hub.ts'
import { Screen } from './rig/screen.ts'
import { hold } from './rig/touch.ts'

/** The folder of all screenshots, in every size and theme. It is not committed. */
const all = resolve(import.meta.dirname, '../test-results/screens')
/** The folder of the screenshots in the docs. */
const kept = resolve(import.meta.dirname, '../../docs/images')
const keep = new Set([
  'session-desktop',
  'session-desktop-dark',
  'permission-phone-dark',
  'sessions-phone',
  'review-phone',
  'file-phone',
])
const most = 200 * 1024

const wide: Size = { width: 1440, height: 900 }

const sizes: [string, Size][] = [
  ['desktop', wide],
  ['phone', phone],
]

describe('pictures', () => {
  let hub: Hub
  let device: Device
  let stranger: Browser
  const sessions: Record<string, string> = {}

  beforeAll(async () => {
    hub = await Hub.start({
      folder: 'uploader',
      agents: (home) => ({
        locked: [binaries.abide, 'demo-agent', '--speed', '0', '--login', '--state', join(home, 'locked')],
      }),
    })
    write()
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
    sessions['locked'] = await hub.newSession('Read the tickets', 'locked')
    await hub.prompt(sessions['locked'], 'Which tickets are about uploads?')
    await hub.event(sessions['locked'], 'agent_exit')
    sessions['rules'] = await hub.newSession('Tidy the tests')
    await hub.turn(sessions['rules'], '/plan')
    for (const rule of [
      { scope: 'session', effect: 'allow', kind: 'edit', title: 'Edits' },
      { scope: 'session', effect: 'reject', kind: 'fetch', title: 'Fetches' },
      { scope: 'agent', effect: 'allow', kind: 'read', title: 'Always allow reads' },
    ])
      await hub.api('POST', `/api/sessions/${sessions['rules']}/rules`, rule)
  }, 120_000)
  afterAll(async () => {
    await stranger.stop()
    await device.stop()
    await hub.stop()
  })

  /** Makes a repository with an uncommitted change. */
  function write(): void {
    const retry = (wait: string) => `package uploader

import (
\t"context"
\t"math/rand/v2"
\t"time"
)

const (
\tbase = 250 * time.Millisecond
\tmost = 10 * time.Second
)

// Wait returns how long to wait before attempt n.
func Wait(n int) time.Duration {
${wait}}

// Do runs send until it succeeds or ctx ends.
func Do(ctx context.Context, send func() error) error {
\tfor n := 1; ; n++ {
\t\tif err := send(); err == nil {
\t\t\treturn nil
\t\t}
\t\tselect {
\t\tcase <-ctx.Done():
\t\t\treturn ctx.Err()
\t\tcase <-time.After(Wait(n)):
\t\t}
\t}
}
`
    const at = (...path: string[]) => join(hub.workspace, ...path)
    const git = repository(hub.workspace)
    for (const folder of ['cmd', 'docs', 'testdata']) {
      mkdirSync(at(folder))
      writeFileSync(at(folder, 'notes.md'), `# ${folder}\n`)
    }
    writeFileSync(at('README.md'), '# uploader\n\nSends files, and tries again when the network does not.\n')
    writeFileSync(at('go.mod'), 'module example.org/uploader\n\ngo 1.26\n')
    writeFileSync(
      at('queue.go'),
      'package uploader\n\n// Queue holds the files that wait.\ntype Queue struct{}\n',
    )
    writeFileSync(at('retry.go'), retry('\treturn base << n\n'))
    git('add', '.')
    git('commit', '-q', '-m', 'first')
    writeFileSync(
      at('retry.go'),
      retry('\tceiling := min(most, base<<min(n, 6))\n\treturn base + rand.N(ceiling-base+1)\n'),
    )
  }

  /** Makes a session whose turn has ended, its permission request allowed. */
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
      // With these fonts installed the screenshots look the same on every machine.
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
      s.page.getByRole('button', { name: 'Stop', exact: true }).waitFor(),
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
      await s.page.getByRole('button', { name: 'More', exact: true }).click()
    })
  })
  const panel = (name: string, item: string, ready: (s: Screen) => Promise<unknown>, of = 'Add a greeting') =>
    take(name, `/s/${sessions[of]}`, async (s) => {
      await atEnd(sessions[of]!)(s)
      await s.page.getByRole('button', { name: 'More', exact: true }).click()
      if (item === 'Agent…') await s.page.getByRole('menuitem', { name: 'All commands…' }).click()
      await s.page.getByRole(item === 'Agent…' ? 'option' : 'menuitem', { name: item }).click()
      await ready(s)
    })
  test('of the rules', () =>
    panel('rules', 'Rules…', (s) => s.page.locator('[data-rule]').first().waitFor(), 'rules'))
  test('of the agent', () =>
    panel('agent', 'Agent…', (s) => s.page.locator('[data-agent-status]').first().waitFor()))
  test('of an agent that wants a login', () =>
    panel('login', 'Agent…', (s) => s.page.getByRole('region', { name: 'Log in here' }).waitFor(), 'locked'))
  test('of the details', async () => {
    const id = sessions['Add a greeting']!
    await take('details', `/s/${id}`, async (s) => {
      await atEnd(id)(s)
      const named = { name: 'Details' }
      const details = s.page.getByRole('complementary', named).or(s.page.getByRole('dialog', named))
      if (!(await details.isVisible())) await s.page.getByRole('button', named).click()
      await details.getByText('Files changed').waitFor()
    })
  })
  test('of a queue being edited', () =>
    take('queue', `/s/${sessions['waiting']}`, async (s) => {
      await s.page.getByText('1 queued').click()
      await s.page.getByRole('button', { name: /^Edit: / }).click()
      await s.page.getByLabel('Queued prompt').waitFor()
    }))
  test('of files and a time to be sent at', async () => {
    const id = sessions['Explain the retry loop']!
    await take('later', `/s/${id}`, async (s) => {
      await atEnd(id)(s)
      await s.page
        .locator('[data-picker]')
        .setInputFiles({ name: 'trace.log', mimeType: 'text/plain', buffer: Buffer.alloc(40_000, 'x') })
      await s.composer.fill('See what went wrong here.')
      const later = s.page.getByRole('button', { name: 'Send later' })
      const when = s.page.getByRole('menuitem', { name: 'Send later…' })
      if (!(await later.isVisible()))
        await hold(s.page.getByRole('button', { name: 'Send', exact: true }), when)
      await when.or(later).first().click()
      await s.page.getByRole('dialog', { name: 'Send later' }).waitFor()
    })
  })
  test('of the commands', async () => {
    const id = sessions['Markdown']!
    await take('commands', `/s/${id}`, async (s) => {
      await atEnd(id)(s)
      await s.composer.fill('/')
      await s.page.getByRole('option').first().waitFor()
    })
  })
  test('of the palette', async () => {
    const id = sessions['Add a greeting']!
    await take('palette', `/s/${id}`, async (s) => {
      await atEnd(id)(s)
      await s.page.keyboard.press('Control+k')
      await s.page.getByRole('combobox', { name: 'Command or session' }).waitFor()
    })
  })
  test('of the search', () =>
    take('search', '/', async (s) => {
      await s.page.getByLabel('Search sessions').fill('retry')
      await s.page.locator('mark').first().waitFor()
    }))
  test('of the filter', () =>
    take('filter', '/', async (s) => {
      await s.page.getByRole('button', { name: 'Filter' }).click()
      await s.page.getByLabel('Group by').selectOption({ label: 'Status' })
    }))
  test('of the menu of a row', () =>
    take('row-menu', '/', async (s) => {
      await s.page.getByRole('button', { name: 'More: Markdown' }).click()
      await s.page.getByRole('menuitem', { name: 'Select' }).waitFor()
    }))
  test('of a selection', () =>
    take('selection', '/', async (s) => {
      await s.page.getByRole('button', { name: 'More: Markdown' }).click()
      await s.page.getByRole('menuitem', { name: 'Select' }).click()
      await s.page.getByRole('group', { name: 'Selected sessions' }).waitFor()
    }))
  test('of the folders for a new session', () =>
    take('folders', '/', async (s) => {
      await s.page.getByRole('button', { name: 'New session' }).first().click()
      await s.page.locator('[data-folder]').click()
      await s.page.getByRole('button', { name: 'Use this folder' }).waitFor()
    }))
  test('of the files', () =>
    take('files', `/s/${sessions['Add a greeting']}/files`, (s) =>
      s.page.getByRole('link', { name: /^retry\.go/ }).waitFor(),
    ))
  test('of a file', () =>
    take('file', `/s/${sessions['Add a greeting']}/files?path=retry.go`, (s) =>
      s.page.locator('code .hljs-keyword').first().waitFor(),
    ))
  test('of a review', () =>
    take('review', `/s/${sessions['Add a greeting']}/review`, async (s) => {
      await s.page.getByRole('tab', { name: 'Changes' }).click()
      await s.page.locator('[data-changes] .piece').first().waitFor()
    }))
  test('of an export', () =>
    take('export', `/s/${sessions['Add a greeting']}/review`, async (s) => {
      await s.page.getByRole('button', { name: 'Export…' }).click()
      await s.page.getByRole('dialog').getByText('Leave out').waitFor()
    }))
  test('of a playback', () =>
    take('playback', `/s/${sessions['Add a greeting']}/play?seq=12`, (s) =>
      s.page.locator('[data-play="12"][data-busy=false]').waitFor(),
    ))
  test('of a device that is added', () =>
    take('add-device', '/settings', async (s) => {
      await s.page.getByRole('button', { name: 'Add a device' }).click()
      const link = s.page.locator('.add svg, .add img, .add canvas').last()
      await link.waitFor()
      await link.scrollIntoViewIfNeeded()
    }))
  test('of the settings', () =>
    take('settings', '/settings', (s) => s.page.getByText('Access', { exact: true }).waitFor()))
  test('of the pairing screen', () =>
    take('door', '/', (s) => s.page.getByText('Pair this device').waitFor(), stranger))
  test('of a session that was deleted', () =>
    take('gone', '/s/gone', (s) => s.page.getByText('Session not found').waitFor()))
  test('of no connection', () =>
    // The app opens without the hub, from the service worker and the event cache.
    take('offline', `/s/${sessions['Add a greeting']}`, async (s) => {
      await s.feed.getByText('Done').first().waitFor()
      // The service worker starts a while after the first screen.
      await s.page.waitForFunction(() => navigator.serviceWorker.controller !== null)
      await hub.kill()
      await s.page.getByRole('button', { name: 'Try now' }).waitFor()
    }))
  test('of a turn that was interrupted', async () => {
    await hub.start()
    await take('interrupted', `/s/${sessions['running']}`, (s) =>
      s.page.getByRole('button', { name: 'Resume' }).first().waitFor(),
    )
  })
})
