import { beforeAll, describe, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { desktop, phone, type Size } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

interface Shift {
  value: number
  sources: string[]
}

describe('a page that is opened', () => {
  const at = paired()
  let long: string
  let changed: string

  beforeAll(async () => {
    // Its newest page is shorter than the screen, so that older pages are loaded at once.
    long = await at.hub.newSession('Opened')
    await at.hub.turn(long, '/burst 300')
    changed = await at.hub.newSession('With a change')
    await at.hub.prompt(changed, '/edit NOTES.md')
    const { permission_id, options } = (await at.hub.event(changed, 'permission_request')).data
    const { option_id } = options.find((o) => o.kind === 'allow_once')!
    await at.hub.api('POST', `/api/sessions/${changed}/permissions/${permission_id}`, { option_id })
    await at.hub.event(changed, 'turn_end')
  })

  /** Opens a blank page of a slow device, which records each layout shift. */
  async function watched(size: Size): Promise<Page> {
    const page = await at.device.browser.window(size)
    const cdp = await at.device.browser.context.newCDPSession(page)
    // On a slow processor each page of the log is painted before the next arrives.
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: 4 })
    await page.addInitScript(() => {
      const shifts: Shift[] = []
      Object.assign(window, { shifts })
      const said = (node: Node | null) => (node as HTMLElement | null)?.textContent?.trim().slice(0, 40) ?? ''
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
          const { value, sources } = entry as unknown as { value: number; sources: { node: Node | null }[] }
          shifts.push({ value, sources: sources.map((s) => said(s.node)) })
        }
      }).observe({ type: 'layout-shift', buffered: true })
    })
    return page
  }

  async function expectStill(page: Page): Promise<void> {
    await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))))
    const shifts = await page.evaluate(() => (window as unknown as { shifts: Shift[] }).shifts)
    const sum = shifts.reduce((all, shift) => all + shift.value, 0)
    expect(sum, JSON.stringify(shifts)).toBeLessThanOrEqual(0.02)
  }

  const read: [string, Size, () => string][] = [
    ['a long session on a phone', phone, () => long],
    ['a session with a change on a phone', phone, () => changed],
    ['a session with a change on a desktop', desktop, () => changed],
  ]
  test.each(read)('has no layout shift: %s', async (_, size, which) => {
    const page = await watched(size)
    const id = which()
    const screen = await Screen.open(page, `${at.device.origin}/s/${id}`)
    await screen.reaches(id, at.hub.lastSeq(id))
    await page.locator('html[data-first-seq="1"]').waitFor()
    if (id === changed) await page.locator('article .l.add').first().waitFor()
    await expectStill(page)
    expect(screen.errors).toEqual([])
    await page.close()
  })

  const opened: [string, Size, () => string, string][] = [
    ['the list on a phone', phone, () => '/', 'With a change'],
    ['the list on a desktop', desktop, () => '/', 'With a change'],
    ['the settings on a phone', phone, () => '/settings', 'Notifications'],
    ['the settings on a desktop', desktop, () => '/settings', 'Notifications'],
    ['a review on a phone', phone, () => `/s/${changed}/review`, '/edit NOTES.md'],
    ['a review on a desktop', desktop, () => `/s/${changed}/review`, '/edit NOTES.md'],
    ['a playback on a phone', phone, () => `/s/${changed}/play`, 'Turn '],
  ]
  test.each(opened)('has no layout shift: %s', async (_, size, path, words) => {
    const page = await watched(size)
    await page.goto(at.device.origin + path())
    await page.getByText(words).first().waitFor()
    await until('the page at rest', async () => {
      const before = await page.content()
      await page.evaluate(() => new Promise((r) => setTimeout(r, 200)))
      return before === (await page.content())
    })
    await expectStill(page)
    await page.close()
  })
})
