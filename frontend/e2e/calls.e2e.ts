// The rows of tool calls in a session, by the outcome of the calls.
import type { Locator } from 'playwright-core'
import { expect, test } from 'vitest'
import { desktop, phone } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { agents, call, say, turn, type Told } from './rig/told.ts'
import { elapse } from './rig/until.ts'

const at = paired({ hub: { agents } })

const options = [
  { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
]
const edit = (path: string): Told => ({
  kind: 'edit',
  content: [{ type: 'diff', path, oldText: 'a\n', newText: 'b\n' }],
})
const ask = (asked: Told): Told => ({ ask: { toolCall: { toolCallId: asked['toolCallId'] }, options } })
const end = ({ toolCallId }: Told, status: string): Told => ({
  sessionUpdate: 'tool_call_update',
  toolCallId,
  status,
})

test('a call does not continue in the next turn, a rejected call did not fail, and only completed calls changed files', async () => {
  const session = await at.hub.newSession('Calls', 'told')
  const screen = await at.device.watch(session, desktop)
  const left = call('Left open', { status: 'in_progress' })
  const proposed = call('Proposed edit', { status: 'pending', ...edit('/src/proposed.go') })
  const refused = call('Refused edit', { status: 'pending', ...edit('/src/refused.go') })
  const done = call('Done edit', { status: 'pending', ...edit('/src/done.go') })
  await screen.prompt(
    JSON.stringify([
      left,
      proposed,
      refused,
      ask(refused),
      end(refused, 'failed'),
      done,
      end(done, 'completed'),
    ]),
  )
  await screen.permission.waitFor()
  await elapse(2_500) // the time a person takes to answer does not count as time of the call
  await screen.answer('Reject')
  await screen.reaches(session, (await at.hub.event(session, 'turn_end')).seq)

  const waits = call('Waits now', { status: 'pending' })
  await screen.prompt(JSON.stringify([waits, ask(waits)]))
  await screen.permission.waitFor()
  const line = (title: string) => screen.feed.locator('button.line', { hasText: title })
  await line('Waits now').getByLabel('Waiting').waitFor()
  for (const title of ['Left open', 'Proposed edit']) {
    await line(title).getByText('not finished').waitFor()
    expect(await line(title).locator('.spin').count(), title).toBe(0)
  }
  await line('Refused edit').getByText('rejected').waitFor()
  const words = await line('Refused edit').innerText()
  expect(words).not.toContain('failed')
  expect(Number(/([\d.]+) s/.exec(words)?.[1] ?? 0), 'how long it took').toBeLessThan(2.5)

  const files = screen.page.locator('section', { hasText: 'Files changed' }).locator('a')
  await files.filter({ hasText: 'done.go' }).waitFor()
  await expect.poll(() => files.count()).toBe(1)
  await screen.answer('Allow')
  await screen.page.close()
})

test('combining marks stacked on a letter stay in their row', async () => {
  const session = await at.hub.newSession('Piled', 'told')
  const piled = [...'stays in its row'].map((c) => c + '\u0301\u0302\u0310\u0323'.repeat(12)).join('')
  await turn(at.hub, session, say('above\n\nabove\n\nabove'), call('Between'), say(piled), call('Below'))
  const screen = await at.device.watch(session, phone)
  const row = screen.feed.locator('article[data-key^="text:"]', { hasText: 's\u0301' })
  const box = (await row.boundingBox())!
  for (const clip of [
    { ...box, y: box.y - 60, height: 56 },
    { ...box, y: box.y + box.height + 4, height: 24 },
  ]) {
    await row.evaluate((element) => (element.style.visibility = 'visible'))
    const shown = await screen.page.screenshot({ clip })
    await row.evaluate((element) => (element.style.visibility = 'hidden'))
    expect(shown.equals(await screen.page.screenshot({ clip })), 'painted outside').toBe(true)
  }
  await screen.page.close()
})

test('words from right to left are in their own direction, and a path keeps the order of its folders', async () => {
  const session = await at.hub.newSession('שלום (v2)', 'told')
  const path = 'שלום/עולם/a.go'
  await turn(
    at.hub,
    session,
    say('שלום, run `go test` now.'),
    say('In order: 5 of 7.'),
    call('Edit', { kind: 'edit', content: [{ type: 'diff', path, oldText: 'a\n', newText: 'b\n' }] }),
  )
  const screen = await at.device.watch(session, phone)
  /** Where a word of an element begins on the screen. */
  const from = (element: Locator, word: string) =>
    element.evaluate((root, word) => {
      const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
      while (walk.nextNode()) {
        const at = walk.currentNode.textContent!.indexOf(word)
        if (at < 0) continue
        const range = document.createRange()
        range.setStart(walk.currentNode, at)
        range.setEnd(walk.currentNode, at + word.length)
        return range.getBoundingClientRect().left
      }
      throw new Error(`no ${word}`)
    }, word)
  const right = screen.feed.locator('.prose p', { hasText: 'שלום' })
  expect(await from(right, 'שלום'), 'begins at the right').toBeGreaterThan(await from(right, 'now'))
  const left = screen.feed.locator('.prose p', { hasText: 'In order' })
  expect(await from(left, 'In order')).toBeLessThan(await from(left, '5 of 7'))
  const file = screen.feed.locator('.path', { hasText: 'a.go' }).first()
  const places = [await from(file, 'שלום'), await from(file, 'עולם'), await from(file, 'a.go')]
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  const title = screen.page.getByRole('heading', { name: 'שלום (v2)' })
  expect(await from(title, 'שלום'), 'the title').toBeGreaterThan(await from(title, 'v2'))
  await screen.composer.fill('שלום\nthen in English')
  expect(await screen.composer.evaluate((area) => getComputedStyle(area).unicodeBidi)).toBe('plaintext')
  await screen.page.close()
})

test('lines of output are not wrapped: the output scrolls, as code does', async () => {
  const session = await at.hub.newSession('Columns', 'told')
  const row = `✓ test/columns-of-a-long-name.test.ts ${' '.repeat(40)} 12 tests, 73 ms`
  const output = Array.from({ length: 6 }, () => row).join('\n')
  await turn(
    at.hub,
    session,
    call('npm test', {
      kind: 'execute',
      content: [{ type: 'content', content: { type: 'text', text: output } }],
    }),
  )
  const screen = await at.device.watch(session, phone)
  await screen.feed.locator('button[aria-expanded=false]', { hasText: 'npm test' }).click()
  const box = screen.feed.getByRole('group', { name: 'Output' })
  const [height, line, across] = await box.evaluate((pre) => {
    const words = document.createRange()
    words.selectNodeContents(pre)
    return [
      words.getBoundingClientRect().height,
      parseFloat(getComputedStyle(pre).lineHeight),
      pre.scrollWidth - pre.clientWidth,
    ]
  })
  expect(height! / line!).toBeLessThan(7)
  expect(across).toBeGreaterThan(100)
  await screen.page.close()
})
