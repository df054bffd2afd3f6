// No opening moves what is on the screen.
import { expect, test } from 'vitest'
import { desktop, phone, type Size } from './rig/browser.ts'
import { paired } from './rig/paired.ts'

const at = paired()

/** Opens a path, and returns how far its layout shifted, with what was moved. */
async function shift(path: string, size: Size) {
  const page = await at.device.browser.window(size)
  await page.addInitScript(() => {
    const shifts: { value: number; moved: string[] }[] = []
    Object.assign(window, { shifts })
    interface Shift extends PerformanceEntry {
      value: number
      sources: { node?: Element; previousRect: DOMRect; currentRect: DOMRect }[]
    }
    new PerformanceObserver((list) => {
      for (const { value, sources } of list.getEntries() as Shift[])
        shifts.push({
          value,
          moved: sources.map(
            (s) => `${s.node?.nodeName}.${s.node?.className} ${s.previousRect.y} to ${s.currentRect.y}`,
          ),
        })
    }).observe({ type: 'layout-shift', buffered: true })
  })
  await page.goto(at.device.origin + path)
  await page.locator('html[data-link=open]').waitFor()
  await page.waitForTimeout(1_200)
  const shifts = await page.evaluate(
    () => (window as unknown as { shifts: { value: number; moved: string[] }[] }).shifts,
  )
  await page.close()
  return { sum: shifts.reduce((n, s) => n + s.value, 0), shifts }
}

test.each([
  ['phone', phone],
  ['desk', desktop],
])('an opening on a %s shifts the layout by 0.01 at most', async (_, size) => {
  const { sum: empty, shifts: inEmpty } = await shift('/', size)
  expect(empty, JSON.stringify(inEmpty)).toBeLessThanOrEqual(0.01)
  const id = await at.hub.newSession('Moved')
  await at.hub.turn(id, '/burst 300')
  const asked = await at.hub.newSession('Asked')
  await at.hub.prompt(asked, '/edit NOTES.md')
  await at.hub.event(asked, 'permission_request')
  // On the phone the list that the device kept is empty. Later it has other sessions, above which these come.
  if (size === desktop) await shift('/', size)
  for (const path of [
    '/',
    `/s/${id}`,
    `/s/${id}/play`,
    `/s/${asked}`,
    `/s/${asked}/play`,
    `/s/${id}/review`,
  ]) {
    const { sum, shifts } = await shift(path, size)
    expect(sum, `${path} ${JSON.stringify(shifts)}`).toBeLessThanOrEqual(0.01)
  }
})
