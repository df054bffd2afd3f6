import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser, desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { Screen } from './rig/screen.ts'
import { tap } from './rig/touch.ts'

interface Listed {
  id: string
  name: string
  current?: boolean
}

describe('the devices of a hub, in its settings', () => {
  let hub: Hub
  let laptop: Device
  let tablet: Device
  let screen: Screen

  beforeAll(async () => {
    hub = await Hub.start()
    laptop = await Device.pair(hub)
    tablet = await Device.pair(hub)
    screen = await laptop.open('/settings', desktop)
  })
  afterAll(async () => {
    await tablet.stop()
    await laptop.stop()
    expect(await hub.stop()).toBe(0)
  })

  const lines = () => screen.page.locator('[data-device]')
  const other = () => lines().filter({ hasText: 'Browser' }).filter({ hasNotText: 'This device' })
  const own = () => lines().filter({ hasText: 'This device' })
  const listed = async () => (await hub.api<{ devices: Listed[] }>('GET', '/api/devices')).devices
  const focused = () => screen.page.evaluate(() => document.activeElement?.getAttribute('aria-label'))

  test('are added by a link that works once, next to what a phone needs', async () => {
    await screen.page.getByRole('button', { name: 'Add a device' }).click()
    const panel = screen.page.getByRole('group', { name: 'Add a device' })
    await panel.getByRole('img', { name: 'QR code of the link' }).waitFor()
    await panel.getByText('opens on the hub’s own machine').waitFor()
    await expect.poll(() => panel.getByRole('timer').innerText()).toMatch(/^[12]:\d\d$/)
    const link = await panel.locator('.address code').innerText()
    const before = await listed()
    const browser = await Browser.start()
    const added = await Screen.open(await browser.window(), link)
    await added.page.locator('html[data-link=open]').waitFor()
    await panel.waitFor({ state: 'detached' }) // it was used
    const fresh = (await listed()).filter((d) => !before.some((b) => b.id === d.id))
    expect(fresh.length).toBe(1)
    await screen.page.locator(`[data-device="${fresh[0]!.id}"]`).waitFor()
    await hub.api('DELETE', `/api/devices/${fresh[0]!.id}`)
    await browser.stop()

    // The hub says the same of a link that was used and of one whose time is over.
    const late = await Browser.start()
    const door = (await Screen.open(await late.window(phone), link)).page
    await door.getByRole('heading', { name: 'Pair this device' }).waitFor()
    const refusal = 'this link has expired or was already used; run `abide pair` for a new one'
    await door.getByText(`Pairing failed: ${refusal}`).waitFor()
    await door.getByLabel('Pairing link or code').fill(link)
    await tap(door.getByRole('button', { name: 'Pair', exact: true }))
    await door.getByRole('alert').filter({ hasText: refusal }).waitFor()
    await late.stop()
    await screen.page.reload()
  })

  test('are added by touch on a phone, where a link whose time is over gives way to another', async () => {
    const page = await laptop.browser.timed(phone)
    await Screen.open(page, `${hub.origin}/settings`)
    await tap(page.getByRole('button', { name: 'Add a device' }))
    const panel = page.getByRole('group', { name: 'Add a device' })
    const code = panel.getByRole('img', { name: 'QR code of the link' })
    const link = panel.locator('.address code')
    const timer = panel.getByRole('timer')
    await code.waitFor()
    const box = (await code.boundingBox())!
    expect(box.x >= 0 && box.x + box.width <= 390 && box.width >= 200, 'the code fits and can be read').toBe(
      true,
    )
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    const first = await link.innerText()
    const before = await timer.innerText()
    await expect.poll(() => timer.innerText(), { message: 'it counts down' }).not.toBe(before)

    await page.clock.fastForward('02:01')
    await panel.getByText('The link has expired.').waitFor()
    expect([await code.count(), await link.count(), await timer.count()]).toEqual([0, 0, 0])
    await tap(panel.getByRole('button', { name: 'Make a new link' }))
    await link.waitFor()
    await expect.poll(() => link.innerText()).not.toBe(first)
    await expect.poll(() => timer.innerText()).toMatch(/^[12]:\d\d$/)
    await tap(panel.getByRole('button', { name: 'Done' }))
    await panel.waitFor({ state: 'detached' })
    await page.close()
  })

  test('are renamed by keys, and hear their new name', async () => {
    await own().waitFor()
    await other()
      .getByRole('button', { name: /^Rename/ })
      .focus()
    await screen.page.keyboard.press('Enter')
    await screen.page.keyboard.press('Escape')
    await expect.poll(() => focused(), { message: 'who gives up is where they began' }).toMatch(/^Rename/)
    await screen.page.keyboard.press('Enter')
    await screen.page.keyboard.type('Kitchen')
    await screen.page.keyboard.press('Enter')
    await other().getByText('Kitchen').waitFor()
    await expect.poll(() => focused()).toBe('Rename: Kitchen')
    expect((await listed()).map((d) => d.name)).toContain('Kitchen')
  })

  test('are revoked only after a question that names them, and are disconnected', async () => {
    const cut = await tablet.open('/', phone)
    await cut.page.locator('html[data-link=open]').waitFor()
    await other().getByRole('button', { name: 'Revoke: Kitchen' }).click()
    await other().getByText('has to be paired again').waitFor()
    expect((await listed()).some((d) => d.name === 'Kitchen')).toBe(true)
    // The first Enter cancels: the focus is on the safe button at first.
    const safe = other().getByRole('group').locator('button:last-child:focus')
    await safe.waitFor()
    await screen.page.keyboard.press('Enter')
    await expect.poll(() => focused()).toBe('Revoke: Kitchen')
    await screen.page.keyboard.press('Enter')
    await safe.waitFor()
    await screen.page.keyboard.press('Shift+Tab')
    await screen.page.keyboard.press('Enter')
    await other().waitFor({ state: 'detached' })
    await cut.page.getByRole('heading', { name: 'This device is signed out' }).waitFor()
    expect((await listed()).some((d) => d.name === 'Kitchen')).toBe(false)
  })

  test('show that the connection is lost, and change nothing', async () => {
    await laptop.browser.context.setOffline(true)
    await screen.page.evaluate(() => dispatchEvent(new Event('offline')))
    await screen.page.getByText('nothing can be changed now').waitFor()
    await expect
      .poll(() =>
        own()
          .getByRole('button', { name: /^Sign out/ })
          .isDisabled(),
      )
      .toBe(true)
    await laptop.browser.context.setOffline(false)
    await screen.page.evaluate(() => dispatchEvent(new Event('online')))
    await screen.page.getByText('nothing can be changed now').waitFor({ state: 'detached' })
  })

  test('can sign out this device', async () => {
    await own()
      .getByRole('button', { name: /^Sign out/ })
      .click()
    await own().getByText('signed out at once').waitFor()
    await own().getByRole('button', { name: 'Sign out', exact: true }).click()
    await screen.page.getByRole('heading', { name: 'This device is signed out' }).waitFor()
    expect((await listed()).filter((d) => d.name !== 'owner' && d.name !== '')).toEqual([])
    expect(screen.errors).toEqual([])
  })
})
