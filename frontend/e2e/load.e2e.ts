import { describe, expect, test } from 'vitest'
import { phone } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { Screen } from './rig/screen.ts'

interface Shift {
  value: number
  sources: string[]
}

describe('a session that is opened', () => {
  const at = paired()

  test('moves nothing that is read while what comes before it is loaded', async () => {
    const id = await at.hub.newSession('Opened')
    // Its newest page is shorter than the screen, so that older ones are asked for at once.
    await at.hub.turn(id, '/burst 300')
    const page = await at.device.browser.window(phone)
    const cdp = await at.device.browser.context.newCDPSession(page)
    await cdp.send('Network.enable')
    // The pages come one after the other, each painted before the next.
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
    const screen = await Screen.open(page, `${at.device.origin}/s/${id}`)
    await screen.reaches(id, at.hub.lastSeq(id))
    await page.locator('html[data-first-seq="1"]').waitFor()
    await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))))
    const shifts = await page.evaluate(() => (window as unknown as { shifts: Shift[] }).shifts)
    const sum = shifts.reduce((all, shift) => all + shift.value, 0)
    expect(sum, JSON.stringify(shifts)).toBeLessThan(0.02)
    expect(screen.errors).toEqual([])
  })
})
