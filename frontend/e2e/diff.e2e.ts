// The display of tool calls: a diff with colours and marked words, in one column or two; a sub-agent's calls under
// the call that started it; pictures. ABIDE_SHOTS names a folder for screenshots.
import { randomBytes } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Locator } from 'playwright-core'
import { barriers, ofColours } from './rig/axe.ts'
import { desktop, phone } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { Screen } from './rig/screen.ts'
import { shot } from './rig/shot.ts'
import { agents, call, say } from './rig/told.ts'
import { tap } from './rig/touch.ts'
import { until } from './rig/until.ts'

const at = paired({ hub: { agents } })

const lines = Array.from({ length: 30 }, (_, i) => `\treturn scale(${i}) // as it was`)
const before = `package tool\n\nfunc size(n int) int {\n${lines.join('\n')}\n}\n`
const after = before
  .replace('scale(7) // as it was', 'scale(70) // as it was')
  .replace('func size(n int) int', 'func size(n, m int) int')
  .replace('\treturn scale(20) // as it was\n', '')

describe('a change', () => {
  let session: string

  beforeAll(async () => {
    session = await at.hub.newSession('A change', 'told')
    const update = call('Change tool.go', {
      kind: 'edit',
      status: 'completed',
      content: [{ type: 'diff', path: 'tool.go', oldText: before, newText: after }],
    })
    await at.hub.turn(session, JSON.stringify([update]))
  })

  const open = async (screen: Screen) => {
    await screen.feed.locator('button.line', { hasText: 'Change tool.go' }).click()
    const change = screen.feed.getByRole('group', { name: 'Changes in tool.go' })
    await change.locator('.hljs-keyword').first().waitFor()
    return change
  }
  const changed = (screen: Screen) => screen.feed.locator('.changed').allTextContents()

  test('is coloured on a phone, in one column, with its changed words marked', async () => {
    const screen = await at.device.watch(session, phone)
    const change = await open(screen)
    await expect.poll(() => changed(screen)).toEqual([',', 'm ', '7', '70'])
    expect(await screen.feed.getByRole('button', { name: 'Side by side' }).count(), 'no room').toBe(0)
    await expect.poll(() => change.getByText('return scale(20)').count(), { message: 'removed' }).toBe(1)
    for (const colorScheme of ['light', 'dark'] as const) {
      await screen.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await barriers(screen.page, ofColours)).toEqual([])
      await shot(screen, `diff-390-${colorScheme}`)
    }
    await screen.page.close()
  })

  describe.each([
    { how: 'by touch at 390', size: phone },
    { how: 'by keyboard at 1440', size: { width: 1440, height: 900 } },
  ])('to be copied $how', ({ size }) => {
    let session: string
    let screen: Screen

    const press = async (button: Locator) => {
      if (size === phone) return tap(button)
      await button.focus()
      await screen.page.keyboard.press('Enter')
    }
    /** Presses the button, or the entry of a menu of the feed. */
    const copy = async (name: string, of?: string) => {
      await press(screen.feed.getByRole('button', { name: of ?? name, exact: true }).first())
      if (of) await press(screen.page.getByRole('menuitem', { name, exact: true }))
    }

    beforeAll(async () => {
      session = await at.hub.newSession('To copy', 'told')
      const command = {
        kind: 'execute',
        status: 'completed',
        rawInput: { command: 'ls -a' },
        content: [{ type: 'content', content: { type: 'text', text: 'all of it' } }],
      }
      await at.hub.turn(
        session,
        JSON.stringify([
          call('List', command),
          call('check --all', { ...command, rawInput: { command: 'check --all' } }),
          call('Change tool.go', {
            kind: 'edit',
            status: 'completed',
            content: [{ type: 'diff', path: 'tool.go', oldText: 'a\n', newText: 'b\n' }],
          }),
          say('Run *this*:\n\n```sh\necho block\n```\n'),
        ]),
      )
    })

    /** Opens the session and every call in it. `browser` runs first in the page, to change the browser's clipboard. */
    const begin = async (browser?: () => void) => {
      screen = await at.device.watch(session, size)
      if (browser) {
        await screen.page.addInitScript(browser)
        await screen.page.reload()
        await screen.reaches(session, at.hub.lastSeq(session))
      }
      await screen.page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await screen.feed.getByRole('button', { name: /Change tool.go/ }).waitFor()
      const closed = screen.feed.locator('button.line[aria-expanded=false]')
      while ((await closed.count()) > 0) await closed.first().click()
    }

    test('are a path, a diff, a command, its output, a code block and a message', async () => {
      await begin()
      const copies = async (name: string, text: string, of?: string) => {
        await copy(name, of)
        await expect
          .poll(() => screen.page.evaluate(() => navigator.clipboard.readText()), { message: name })
          .toBe(text)
      }
      // The title is the command, so it is not repeated below.
      const once = (command: string) =>
        screen.feed.locator('.tool').getByText(command, { exact: true }).count()
      expect([await once('ls -a'), await once('check --all')]).toEqual([1, 1])
      await copies('Copy path', 'tool.go', 'Change actions')
      await copies('Copy diff', '--- a/tool.go\n+++ b/tool.go\n@@ -1,1 +1,1 @@\n-a\n+b\n', 'Change actions')
      await copies('Copy command', 'ls -a')
      await copies('Copy output', 'all of it')
      await copies('Copy code', 'echo block\n')
      await copies('Copy as Markdown', 'Run *this*:\n\n```sh\necho block\n```\n', 'Message actions')
      await copies('Copy', 'Run this:\n\necho block', 'Message actions')
      expect(screen.errors).toEqual([])
      await screen.page.close()
    })

    test('are the same at a plain-http address, which has no clipboard to write to', async () => {
      await begin(() => Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined }))
      for (const [name, text] of [
        ['Copy command', 'ls -a'],
        ['Copy code', 'echo block\n'],
      ] as const) {
        await copy(name)
        await screen.feed.locator('[data-copied=true]').first().waitFor()
        await screen.composer.fill('')
        await screen.composer.press('Control+v')
        await expect.poll(() => screen.composer.inputValue(), { message: name }).toBe(text)
      }
      await screen.composer.fill('')
      await screen.page.close()
    })

    test('say so where the browser does not let them', async () => {
      await begin(() => {
        Object.defineProperty(Navigator.prototype, 'clipboard', { value: undefined })
        document.execCommand = () => false
      })
      await copy('Copy command')
      await screen.feed.getByRole('button', { name: 'Not copied' }).waitFor()
      expect(await screen.feed.locator('[data-copied=true]').count()).toBe(0)
      await copy('Copy link', 'Message actions')
      await screen.page.getByText('Not copied: the browser does not let the app copy').waitFor()
      await shot(screen, `not-copied-${size.width}`)
      await screen.page.close()
    })
  })

  test('is shown in two columns by keyboard, and the choice is remembered', async () => {
    const screen = await at.device.watch(session, desktop)
    await screen.page.setViewportSize({ width: 1440, height: 900 })
    await open(screen)
    const button = screen.feed.getByRole('button', { name: 'Side by side' })
    const pressed = (value: string) => expect.poll(() => button.getAttribute('aria-pressed')).toBe(value)
    await pressed('false')
    await button.press('Enter')
    await pressed('true')
    const [old, now] = await screen.feed
      .locator('.l', { hasText: /scale\(70?\)/ })
      .evaluateAll((cells) => cells.map((cell) => cell.getBoundingClientRect().toJSON() as DOMRect))
    expect(old!.top).toBe(now!.top)
    expect(old!.right).toBeLessThanOrEqual(now!.left)
    for (const colorScheme of ['light', 'dark'] as const) {
      await screen.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await barriers(screen.page)).toEqual([])
      await shot(screen, `diff-1440-${colorScheme}`)
    }
    await screen.page.reload()
    await open(screen)
    await pressed('true')
    await button.press('Enter')
    await pressed('false')
    expect(screen.errors).toEqual([])
    await screen.page.close()
  })
})

describe('a sub-agent', () => {
  let session: string

  beforeAll(async () => {
    session = await at.hub.newSession('A sub-agent', 'told')
    const explore = call('Explore the code', { kind: 'think' })
    const of = (title: string, over = {}) =>
      call(title, {
        kind: 'read',
        _meta: { claudeCode: { parentToolUseId: explore['toolCallId'] } },
        ...over,
      })
    await at.hub.turn(
      session,
      JSON.stringify([
        explore,
        of('Read one.go'),
        say('I look around meanwhile.'),
        of('Run the tests', { kind: 'execute', status: 'failed' }),
        call('Read mine.go', { kind: 'read' }),
      ]),
    )
  })

  const calls = (screen: Screen) => screen.page.getByRole('button', { name: '2 calls 1 failed' })
  const titles = (screen: Screen) => screen.feed.locator('.tools button.line').allInnerTexts()

  for (const size of [phone, desktop])
    test(`has its calls under its own, closed at first, ${size === phone ? 'at 390' : 'by keyboard'}`, async () => {
      const screen = await at.device.watch(session, size)
      const row = screen.feed.locator('article', { has: calls(screen) })
      await calls(screen).waitFor()
      expect(await screen.feed.getByText('Read one.go', { exact: true }).count(), 'closed').toBe(0)
      if (size === phone) await tap(calls(screen))
      else {
        await calls(screen).focus()
        await screen.page.keyboard.press('Enter')
      }
      await row.getByText('Run the tests', { exact: true }).waitFor()
      await expect
        .poll(() => titles(screen))
        .toEqual([expect.stringContaining('Read one.go'), expect.stringContaining('Run the tests')])
      await expect.poll(() => screen.feed.getByText('Read mine.go', { exact: true }).count()).toBe(1)
      expect(await row.getByText('Read mine.go', { exact: true }).count(), 'no sub-agent’s').toBe(0)
      expect(await barriers(screen.page)).toEqual([])
      await shot(screen, `sub-agent-${size.width}`)
      await screen.page.close()
    })

  test('a link to one of its calls shows that call', async () => {
    const inside = at.hub
      .events(session)
      .find((e) => e.type === 'tool_call' && e.data.title === 'Run the tests')!
    const screen = await at.device.open(`/s/${session}?seq=${inside.seq}`, phone)
    await screen.feed.getByRole('button', { name: /Run the tests/ }).waitFor()
    await screen.page.close()
  })
})

/** A PNG of this size. `fill` gives its pixels: grey, or noise, which does not compress. */
function png(width: number, height: number, fill: (length: number) => Buffer): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const around = Buffer.alloc(8)
    around.writeUInt32BE(data.length, 0)
    around.writeUInt32BE(crc32(body), 4)
    return Buffer.concat([around.subarray(0, 4), body, around.subarray(4)])
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head[8] = 8
  const rows = fill((width + 1) * height)
  for (let y = 0; y < height; y++) rows[y * (width + 1)] = 0
  const magic = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const parts = [magic, chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]
  return Buffer.concat(parts)
}

describe('a picture', () => {
  const grey = (length: number) => Buffer.alloc(length, 0x80)
  let session: string

  beforeAll(async () => {
    session = await at.hub.newSession('A picture', 'told')
    const image = { type: 'image', mimeType: 'image/png', data: png(600, 1000, grey).toString('base64') }
    await at.hub.turn(
      session,
      JSON.stringify([
        call('Take a picture', { content: [{ type: 'content', content: image }] }),
        { sessionUpdate: 'agent_message_chunk', messageId: 'picture', content: image },
      ]),
    )
  })

  for (const size of [phone, desktop])
    test(`is small in the feed, and whole once opened, ${size === phone ? 'at 390' : 'by keyboard'}`, async () => {
      const screen = await at.device.watch(session, size)
      await screen.feed.locator('button.line', { hasText: 'Take a picture' }).click()
      const small = screen.feed.getByRole('button', { name: 'Open Picture', exact: true })
      const height = async (img: ReturnType<typeof small.locator>) => (await img.boundingBox())!.height
      await expect.poll(() => height(small.locator('img'))).toBeLessThanOrEqual(180)
      await expect
        .poll(() => screen.feed.getByRole('button', { name: 'Open Picture sent by the agent' }).count())
        .toBe(1)
      await (size === phone ? tap(small) : small.press('Enter'))
      const whole = screen.page.getByRole('dialog', { name: 'Picture' })
      const shown = whole.getByRole('img', { name: 'Picture' })
      await expect.poll(() => height(shown)).toBeGreaterThan(400)
      await expect
        .poll(() => shown.evaluate((img) => img.getBoundingClientRect().right <= innerWidth))
        .toBe(true)
      await shot(screen, `picture-${size.width}`)
      expect(await barriers(screen.page)).toEqual([])
      await screen.page.keyboard.press('Escape')
      await whole.waitFor({ state: 'detached' })
      await expect
        .poll(() => small.evaluate((b) => b === document.activeElement), { message: 'the focus comes back' })
        .toBe(true)
      await screen.page.close()
    })

  test('that is attached is loaded in full size only once it is opened', async () => {
    const attached = await at.hub.newSession('An attachment', 'told')
    const data = png(1600, 1200, randomBytes)
    const uploaded = await fetch(`${at.hub.origin}/api/sessions/${attached}/attachments?name=large.png`, {
      method: 'POST',
      headers: { authorization: `Bearer ${at.hub.token}`, 'content-type': 'image/png' },
      body: data as BodyInit,
    })
    const attachments = [await uploaded.json()]
    await at.hub.api('POST', `/api/sessions/${attached}/prompt`, { prompt_id: 'p', text: '[]', attachments })
    await at.hub.event(attached, 'turn_end')
    const page = await at.device.browser.window(phone)
    const loaded: number[] = []
    page.on('response', (answer) => {
      if (answer.url().includes('/blobs/') && answer.request().method() === 'GET')
        void answer.body().then(({ length }) => loaded.push(length))
    })
    const screen = await Screen.open(page, `${at.device.origin}/s/${attached}`)
    const small = screen.feed.getByRole('button', { name: 'Open large.png' })
    await small.waitFor()
    await until('the small one', () => loaded.length === 1)
    expect(loaded[0]).toBeLessThan(data.length / 4)
    await small.click()
    await until('the whole', () => loaded.length === 2)
    expect(loaded[1]).toBe(data.length)
    await screen.page.close()
  })
})
