// Where a session's branch stands: in its line of the list and in its details, while its agent works.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { phone } from './rig/browser.ts'
import { repository } from './rig/git.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'
import { agents, call, turn } from './rig/told.ts'
import { tap } from './rig/touch.ts'

const at = paired({ hub: { agents } })

test.each([
  { how: 'at 390', size: phone },
  { how: 'at 1280', size: { width: 1280, height: 800 } },
])('the counts of a branch follow its agent, $how', async ({ size }) => {
  const git = repository(at.hub.workspace)
  const wrote = (name: string) => writeFileSync(join(at.hub.workspace, name), 'text\n')
  wrote('a.txt')
  git('add', '.')
  git('commit', '-qm', 'One')
  git('checkout', '-qb', 'main')
  git('checkout', '-qb', 'spread')
  const session = await at.hub.newSession('Spread the retries', 'told')
  const other = await at.hub.newSession('Another', 'told')
  await turn(at.hub, session, call('Look'))
  const touch = size === phone
  const screen = await at.device.open('/', size)
  const { page } = screen
  const asked: string[] = []
  page.on(
    'request',
    (r) => r.url().endsWith('/branch') && asked.push(new URL(r.url()).pathname.split('/')[3]!),
  )
  const row = page.locator(`[data-row="${session}"]`)
  await row.getByText('· spread').waitFor()
  wrote('b.txt')
  await turn(at.hub, session, call('Write b.txt'))
  await row.getByRole('img', { name: '1 uncommitted' }).waitFor()
  git('add', '.')
  git('commit', '-qm', 'Two')
  wrote('c.txt')
  await turn(at.hub, session, call('Write c.txt'))
  await row.getByRole('img', { name: '1 ahead, 1 uncommitted' }).waitFor()
  await shot(screen, `branches-list-${size.width}`)
  expect(await barriers(page)).toEqual([])
  // What the hub found before the session began is asked for again, at 3 s and at 6 s.
  const others = asked.filter((id) => id === other)
  expect(others.length, 'a session that does not go on is not asked for again').toBeLessThanOrEqual(3)

  await screen.go(`/s/${session}`)
  if (touch) await tap(page.getByRole('button', { name: 'Details', exact: true }))
  const details = page.getByRole(touch ? 'dialog' : 'complementary', { name: 'Details' })
  await details.getByText('1 ahead of main, 0 behind.').waitFor()
  await details.getByText('· 1 uncommitted file', { exact: true }).waitFor()
  git('checkout', '-q', 'main')
  writeFileSync(join(at.hub.workspace, 'b.txt'), 'other\n')
  git('add', 'b.txt')
  git('commit', '-qm', 'Three')
  git('checkout', '-q', 'spread')
  await turn(at.hub, session, call('Say so'))
  await details.getByText('Conflicts with main: b.txt').waitFor()
  await shot(screen, `branches-details-${size.width}`)
  expect(await barriers(page)).toEqual([])
  expect(screen.errors).toEqual([])
  await page.close()
  for (const name of ['.git', 'a.txt', 'b.txt', 'c.txt'])
    rmSync(join(at.hub.workspace, name), { recursive: true })
  for (const id of [session, other]) await at.hub.deleteSession(id)
})
