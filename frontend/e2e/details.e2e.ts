// The details of a session: the state of the work comes first, the raw event last.
import { expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { phone } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { agents, call, turn } from './rig/told.ts'
import { tap } from './rig/touch.ts'

const at = paired({ hub: { agents } })

test.each([
  { how: 'by touch at 390', size: phone },
  { how: 'by keyboard at 1440', size: { width: 1440, height: 900 } },
])('begin with plan, files and usage, and end with the entry in focus, $how', async ({ size }) => {
  const session = await at.hub.newSession('Looked into', 'told')
  const edit = call('Change tool.go', {
    kind: 'edit',
    content: [{ type: 'diff', path: 'tool.go', oldText: 'a\n', newText: 'b\n' }],
  })
  await turn(
    at.hub,
    session,
    { sessionUpdate: 'plan', entries: [{ content: 'Change it', priority: 'high', status: 'completed' }] },
    edit,
    { sessionUpdate: 'usage_update', used: 19_000, size: 200_000, cost: { amount: 0.11, currency: 'USD' } },
  )
  const screen = await at.device.watch(session, size)
  const { page, feed } = screen
  const touch = size === phone
  const row = feed.getByRole('button', { name: /Change tool.go/ })
  if (touch) await tap(row)
  else {
    await row.focus()
    await page.keyboard.press('Enter')
  }
  if (touch) await tap(page.getByRole('button', { name: 'Details', exact: true }))
  const details = page.getByRole(touch ? 'dialog' : 'complementary', { name: 'Details' })
  await details.getByText('19k of 200k').waitFor()
  const headings = async () =>
    (await details.locator('h2, summary').allInnerTexts()).filter((heading) => heading !== 'Details')
  const all = ['Plan', 'Files changed', 'Usage', 'Session', 'Tags', 'Viewers', 'Inspect']
  await expect.poll(headings).toEqual(all) // some parts load late
  const raw = details.getByRole('button', { name: 'Raw event' })
  expect(await raw.count(), 'behind Inspect').toBe(0)
  await shot(screen, `details-${size.width}`)
  const inspect = details.getByText('Inspect', { exact: true })
  if (touch) await tap(inspect)
  else {
    await inspect.focus()
    await page.keyboard.press('Enter')
  }
  await raw.waitFor()
  expect(await barriers(page)).toEqual([])
  expect(screen.errors).toEqual([])
  await page.close()
})

test('their sums are of the whole session, not of the events that are loaded', async () => {
  const session = await at.hub.newSession('A long day', 'told')
  const edit = (n: number) =>
    call(`Change tool.go, ${n}`, {
      kind: 'edit',
      content: [{ type: 'diff', path: 'tool.go', oldText: 'a\n', newText: 'b\nc\n' }],
    })
  for (let n = 1; n <= 4; n++) {
    const calls = Array.from({ length: 60 }, (_, i) => call(`Look ${n}.${i}`))
    await turn(at.hub, session, edit(n), ...calls)
  }
  const screen = await at.device.watch(session, phone)
  const { page } = screen
  const third = at.hub.events(session).filter((e) => e.type === 'user_prompt')[2]!
  expect((await screen.facts()).first, 'most of it is not loaded').toBeGreaterThan(third.seq)
  await tap(page.getByRole('button', { name: 'Details', exact: true }))
  const details = page.getByRole('dialog', { name: 'Details' })
  await details.locator('dt:text-is("Tool calls") + dd:text-is("244")').waitFor()
  const file = details.getByRole('link', { name: /tool\.go/ })
  expect((await file.innerText()).replace(/\s+/g, ' ')).toBe('tool.go +8 −4')
  await shot(screen, 'details-sums-390')

  await turn(at.hub, session, edit(5))
  await details.locator('dt:text-is("Tool calls") + dd:text-is("245")').waitFor()
  expect(screen.errors).toEqual([])
  await page.close()
})
