// The look of the app: the chosen theme and text size, and more contrast if the system asks for it.
import { expect, test } from 'vitest'
import { barriers } from './rig/axe.ts'
import { desktop, phone } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { shot } from './rig/shot.ts'

const at = paired()

for (const size of [phone, desktop])
  test(`theme and text size are kept, at ${size.width}`, async () => {
    const session = await at.hub.newSession('Looks')
    await at.hub.turn(session, '/plan')
    const screen = await at.device.open('/settings', size)
    const { page } = screen
    const font = () => page.evaluate(() => parseFloat(getComputedStyle(document.documentElement).fontSize))
    const normal = await font()
    await page.getByLabel('Dark', { exact: true }).focus()
    await page.keyboard.press('Space')
    await page.getByLabel('Larger', { exact: true }).focus()
    await page.keyboard.press('Space')
    const chosen = () => page.evaluate(() => ({ ...document.documentElement.dataset }))
    await expect.poll(() => chosen()).toMatchObject({ theme: 'dark', text: 'larger' })
    await expect.poll(async () => (await font()) / normal).toBeCloseTo(1.35)
    await shot(screen, `settings-larger-${size.width}`)
    await screen.go(`/s/${session}`)
    await page.reload()
    await screen.reaches(session, at.hub.lastSeq(session))
    await expect.poll(() => chosen()).toMatchObject({ theme: 'dark', text: 'larger' })
    await expect
      .poll(() => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), {
        message: 'no sideways',
      })
      .toBe(true)
    expect(await barriers(page)).toEqual([])
    await shot(screen, `session-larger-${size.width}`)
    await screen.go('/settings')
    await page.getByLabel('System', { exact: true }).check()
    await page.getByLabel('Normal', { exact: true }).check()
    await expect
      .poll(async () => Object.keys(await chosen()))
      .not.toEqual(expect.arrayContaining(['theme', 'text']))
    await page.close()
  })

test('the options of a choice in Settings are side by side in one control, on a phone too', async () => {
  const screen = await at.device.open('/settings', phone)
  const groups = screen.page.getByRole('group').filter({ has: screen.page.getByRole('radio') })
  await groups.nth(1).waitFor() // the screen is a part of its own
  await expect.poll(() => groups.count()).toBe(2)
  for (const group of await groups.all()) {
    const boxes = await group.locator('label').evaluateAll((labels) =>
      labels.map((label) => {
        const { left, right, top, height } = label.getBoundingClientRect()
        return { left, right, top, height }
      }),
    )
    for (const [i, box] of boxes.entries()) {
      expect(box.height, 'large enough for a finger').toBeGreaterThanOrEqual(40)
      expect(box.top, 'one row').toBe(boxes[0]!.top)
      if (i > 0) expect(box.left, 'no gap').toBeLessThanOrEqual(boxes[i - 1]!.right)
    }
    const [chosen, ...others] = await group
      .getByRole('radio')
      .evaluateAll((radios) =>
        (radios as HTMLInputElement[])
          .sort((a, b) => Number(b.checked) - Number(a.checked))
          .map((radio) => getComputedStyle(radio.closest('label')!).backgroundColor),
      )
    expect(others, 'the chosen one stands out').not.toContain(chosen)
  }
  await screen.page.close()
})

test('if the system asks for more contrast, all text has a contrast of 7:1', async () => {
  const session = await at.hub.newSession('Contrast')
  await at.hub.turn(session, '/plan')
  const screen = await at.device.watch(session, desktop)
  for (const colorScheme of ['light', 'dark'] as const) {
    await screen.page.emulateMedia({ colorScheme, contrast: 'more', reducedMotion: 'reduce' })
    expect(await barriers(screen.page, ['color-contrast-enhanced'])).toEqual([])
    await shot(screen, `contrast-${colorScheme}`)
  }
  await screen.page.close()
})
