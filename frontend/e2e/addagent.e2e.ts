// A new user with a bare configuration adds an agent in Settings, logs it in, and prompts it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { binaries, Hub } from './rig/hub.ts'
import { shot } from './rig/shot.ts'
import { tap } from './rig/touch.ts'

describe.each([
  ['by touch', phone],
  ['at a desk', desktop],
])('an agent is added %s', (_, size) => {
  let hub: Hub
  let device: Device
  const comment = '# mine, and kept\n'

  beforeAll(async () => {
    hub = await Hub.start({
      bare: true,
      config: comment,
      programs: {
        gemini: `[ "$1" = --acp ] && shift\nexec ${binaries.abide} demo-agent --speed 0 --login --state "$HOME/state" "$@"`,
        qwen: 'echo the key is missing >&2; exit 3',
      },
    })
    device = await Device.pair(hub)
  })
  afterAll(async () => {
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })

  test('from New session, with its login', async () => {
    const screen = await device.open('/', size)
    const { page } = screen
    const press = async (name: string | RegExp) => {
      const button = page.getByRole('button', { name, exact: true }).filter({ visible: true }).last()
      await (size === phone ? tap(button) : button.click())
    }
    const config = () => readFileSync(join(hub.home, 'config.yaml'), 'utf8')

    await press(/^(New session|Start your first session)$/)
    await page.getByText('Only the demo agent is set up.').waitFor()
    await shot(screen, `addagent-new-${size.width}`)
    await press('Add an agent')
    const list = page.getByRole('group', { name: 'Add an agent' })
    await list.getByText('Gemini CLI').waitFor()
    await list.getByText(/^Not installed: \d+$/).waitFor()
    await shot(screen, `addagent-known-${size.width}`)

    // One that does not start says why, and is not added.
    await press('Add Qwen Code')
    await list.getByText('it ended before it answered (exit code 3)').waitFor()
    await list.getByText('the key is missing').waitFor()
    await list.getByText('It was not added.').waitFor()
    expect(config()).toBe(comment)
    await shot(screen, `addagent-fails-${size.width}`)

    await press('Add Gemini CLI')
    const added = page.locator('[data-agent=gemini]')
    await added.getByText(/^Needs a login first: Demo agent/).waitFor()
    expect(config()).toBe(`${comment}\nagents:\n  gemini: {command: [gemini, --acp]}\n`)
    await shot(screen, `addagent-added-${size.width}`)
    expect(await barriers(page)).toEqual([])

    await added
      .getByText('Runs on the hub’s machine:')
      .getByText(/gemini --acp login$/)
      .waitFor()
    await press('Log in with a terminal')
    await added.getByText('Code:').waitFor()
    await added.getByRole('link', { name: 'https://example.com/device' }).waitFor()
    await added.getByLabel('Answer the login').fill('42')
    await shot(screen, `addagent-login-${size.width}`)
    expect(await barriers(page)).toEqual([])
    await press('Send')
    await added.getByText(/^Works: Demo agent/).waitFor()
    await added.getByText('It begins in mode ask.').waitFor()
    await press('Let it say hello')
    await added.getByText('workspace is as it was').waitFor()
    await page.emulateMedia({ colorScheme: 'dark' })
    await shot(screen, `addagent-works-${size.width}`)
    await page.emulateMedia({ colorScheme: 'light' })

    // It is there for a new session at once.
    await page.goto(hub.origin)
    await press(/^(New session|Start your first session)$/)
    await page.getByLabel('Agent').selectOption('gemini')
    expect(await page.getByText('Only the demo agent is set up.').count()).toBe(0)
    await page.getByLabel('First prompt').fill('/noise')
    await press('Start')
    await page.waitForURL('**/s/*')
    await screen.feed.getByText('After the noise').first().waitFor()
  })
})
