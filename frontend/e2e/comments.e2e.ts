import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CommentList } from '../src/wire/gen.ts'
import { barriers } from './rig/axe.ts'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { repository } from './rig/git.ts'
import { Hub } from './rig/hub.ts'
import { shot } from './rig/shot.ts'
import { tap } from './rig/touch.ts'

describe('comments with their place', () => {
  const hub = new Hub()
  let device: Device
  beforeAll(async () => {
    await hub.start()
    device = await Device.pair(hub)
  })
  afterAll(async () => {
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })
  const comments = async (id: string) =>
    (await hub.api<CommentList>('GET', `/api/sessions/${id}/comments`)).comments

  test('a line of the feed is commented on in two taps, shown there and sent with file, line and code', async () => {
    const id = await hub.newSession('Commented')
    await hub.prompt(id, '/edit NOTES.md')
    const { permission_id, options } = (await hub.event(id, 'permission_request')).data
    const { option_id } = options.find((o) => o.kind === 'allow_once')!
    await hub.api('POST', `/api/sessions/${id}/permissions/${permission_id}`, { option_id })
    await hub.event(id, 'turn_end')
    const screen = await device.open(`/s/${id}`, phone)
    const { page } = screen
    const line = page.locator('article .l.add').first()
    const code = (await line.locator('code').textContent())!
    await line.locator('.n').click()
    const box = page.getByRole('textbox', { name: 'Comment' })
    await expect.poll(() => box.evaluate((e) => e === document.activeElement)).toBe(true)
    await page.keyboard.type('Should this trim?')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await shot(screen, `comment-phone-${colorScheme}`)
    }
    expect(await barriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Add comment' }).click()
    await page.locator('.remark', { hasText: 'Should this trim?' }).waitFor()
    const [made] = await comments(id)
    expect(made).toMatchObject({ text: 'Should this trim?', quote: code })
    expect(made!.path).toBeTruthy()
    expect(made!.line).toBeGreaterThan(0)
    await shot(screen, 'comment-shown-phone')

    await page.getByRole('link', { name: '1 comment' }).click()
    await page.getByRole('checkbox', { name: /^Select the comment on / }).check()
    await shot(screen, 'comment-review-phone')
    await page.getByRole('button', { name: 'Send to the agent (1)' }).click()
    const prompt = page.locator('[data-composer]')
    await expect.poll(() => prompt.inputValue()).toContain(`${made!.path}:${made!.line}`)
    const text = await prompt.inputValue()
    expect(text).toContain(code.trim())
    expect(text).toContain('Should this trim?')
    expect(text).not.toMatch(/event \d/i)
    expect(screen.errors).toEqual([])
    await page.close()
  })

  test('several lines of a file are commented on, collected, and told apart once they have changed', async () => {
    const file = join(hub.workspace, 'main.txt')
    writeFileSync(file, 'alpha\nbeta\ngamma\ndelta\n')
    const id = await hub.newSession('Lines')
    await hub.turn(id, '/markdown')
    const screen = await device.open(`/s/${id}/files?path=main.txt`, phone)
    const { page } = screen
    const numbers = page.locator('.numbers')
    await numbers.waitFor()
    const at = async (line: number) => {
      const box = (await numbers.boundingBox())!
      return { x: box.width / 2, y: box.height * ((line - 0.5) / 4) }
    }
    // By touch: the number, one line more, the words, Add comment.
    await numbers.click({ position: await at(2) })
    await page.locator('dialog textarea:focus').waitFor()
    await page.keyboard.type('Both at once?')
    await page.getByRole('button', { name: 'One line more' }).click()
    await page.getByRole('status').filter({ hasText: '2 lines' }).waitFor()
    await shot(screen, 'comment-lines-phone')
    expect(await barriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Add comment' }).click()
    await page.locator('.remark', { hasText: 'Both at once?' }).waitFor()
    expect((await comments(id))[0]).toMatchObject({
      path: 'main.txt',
      line: 2,
      end_line: 3,
      quote: 'beta\ngamma',
    })
    // By mouse: drawn from a line to another.
    const box = (await numbers.boundingBox())!
    const [from, to] = [await at(4), await at(3)]
    await page.mouse.move(box.x + from.x, box.y + from.y)
    await page.mouse.down()
    await page.mouse.move(box.x + to.x, box.y + to.y, { steps: 3 })
    await page.mouse.up()
    await page.locator('dialog textarea:focus').waitFor()
    await page.keyboard.type('And these.')
    await page.keyboard.press('Control+Enter')
    await page.locator('.remark', { hasText: 'And these.' }).waitFor()
    expect((await comments(id))[1]).toMatchObject({ line: 3, end_line: 4, quote: 'gamma\ndelta' })

    writeFileSync(file, 'first\nalpha\nbeta\ngamma\nepsilon\n')
    await page.reload()
    await page.locator('.remark', { hasText: '3–4' }).filter({ hasText: 'Both at once?' }).waitFor()
    await page
      .locator('.remark', { hasText: 'This line has changed' })
      .filter({ hasText: 'And these.' })
      .waitFor()
    await shot(screen, 'comment-lines-moved-phone')
    // It leads to the comments from Files, and from another part of the review.
    await page.getByRole('link', { name: '2 comments' }).click()
    await page.getByRole('tab', { name: 'Turns' }).click()
    await page.getByRole('link', { name: '2 comments' }).click()
    await page.getByRole('button', { name: 'Send all open to the agent (2)' }).click()
    const prompt = page.locator('[data-composer]')
    await expect.poll(() => prompt.inputValue()).toContain('main.txt:2-3')
    await expect.poll(() => prompt.inputValue()).toContain('main.txt:3-4')
    expect(screen.errors).toEqual([])
    await page.close()
  })

  test('lines of a change are chosen with Shift by mouse and by keys, and on a phone one by one', async () => {
    const git = repository(hub.workspace)
    const file = join(hub.workspace, 'poem.txt')
    writeFileSync(file, 'one\ntwo\nthree\n')
    git('add', 'poem.txt')
    git('commit', '-qm', 'One')
    writeFileSync(file, 'one\n2\n3\n4\n5\nthree\n')
    const id = await hub.newSession('Chosen lines')
    await hub.turn(id, '/markdown')
    const screen = await device.open(`/s/${id}/files?path=poem.txt`, { width: 1280, height: 800 })
    const { page } = screen
    const number = (text: string) =>
      page
        .locator('.l.add')
        .filter({ has: page.locator('code', { hasText: text }) })
        .locator('.n')
    const write = async (text: string) => {
      await page.locator('dialog textarea:focus').waitFor()
      await page.keyboard.type(text)
      await page.getByRole('button', { name: 'Add comment' }).click()
      await page.locator('.remark', { hasText: text }).waitFor()
      return (await comments(id)).at(-1)
    }
    await number('2').click({ modifiers: ['Shift'] })
    await page.locator('.l.chosen').waitFor()
    expect(await page.locator('dialog').count(), 'the other end is to be chosen').toBe(0)
    await number('4').click({ modifiers: ['Shift'] })
    await page.getByRole('status').filter({ hasText: '3 lines' }).waitFor()
    expect(await write('By mouse.')).toMatchObject({
      path: 'poem.txt',
      line: 2,
      end_line: 4,
      quote: '2\n3\n4',
    })

    const group = page.getByRole('group', { name: 'Changes in poem.txt' })
    await page.reload()
    await group.focus()
    for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowDown') // one, two, 2, 3
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('Shift+ArrowDown')
    await expect.poll(() => page.locator('.l.chosen code').allInnerTexts()).toEqual(['3', '4', '5'])
    await page.keyboard.press('Shift+ArrowUp')
    await shot(screen, 'comment-chosen-wide')
    await page.keyboard.press('Enter')
    expect(await write('By keys.')).toMatchObject({ line: 3, end_line: 4, quote: '3\n4' })
    await expect.poll(() => group.evaluate((e) => e === document.activeElement)).toBe(true)
    await page.keyboard.press('Escape')
    await expect.poll(() => page.locator('.l.chosen').count()).toBe(0)
    expect(await barriers(page)).toEqual([])
    await page.close()

    const small = await device.open(`/s/${id}/files?path=poem.txt`, phone)
    await tap(small.page.locator('.l.add').nth(2).locator('.n'))
    await small.page.locator('dialog textarea:focus').waitFor()
    await tap(small.page.getByRole('button', { name: 'One line more' }))
    await small.page.getByRole('status').filter({ hasText: '2 lines' }).waitFor()
    await small.page.keyboard.press('c') // no command acts behind the dialog
    await small.page.locator('dialog textarea').focus()
    await small.page.keyboard.type('By touch.')
    await shot(small, 'comment-chosen-phone')
    await tap(small.page.getByRole('button', { name: 'Add comment' }))
    await small.page.locator('.remark', { hasText: 'By touch.' }).waitFor()
    expect((await comments(id)).at(-1)).toMatchObject({ line: 4, end_line: 5, quote: '4\n5' })
    expect([...screen.errors, ...small.errors]).toEqual([])
    await small.page.close()
  })

  test('a message is commented on, and the agent gets its words', async () => {
    const id = await hub.newSession('Said')
    await hub.turn(id, '/markdown')
    const screen = await device.open(`/s/${id}`, desktop)
    const { page } = screen
    await page.locator('article .message').first().hover()
    await page.getByRole('button', { name: 'Message actions' }).first().click()
    await page.getByRole('menuitem', { name: 'Comment…' }).click()
    await page.locator('dialog textarea:focus').waitFor()
    await page.keyboard.type('Say more.')
    await shot(screen, 'comment-wide')
    await page.getByRole('button', { name: 'Send to the agent' }).click()
    await expect.poll(async () => (await comments(id)).length).toBe(1)
    const [made] = await comments(id)
    expect(made!.path).toBeUndefined()
    expect(made!.quote!.length).toBeGreaterThan(3)
    await expect.poll(() => page.locator('[data-composer]').inputValue()).toContain('Say more.')
    await expect
      .poll(() => page.locator('[data-composer]').inputValue())
      .toContain(made!.quote!.split('\n')[0])
    await page.locator('.remark', { hasText: 'Say more.' }).waitFor()
    await shot(screen, 'comment-shown-wide')
    expect(screen.errors).toEqual([])
    await page.close()
  })
})
