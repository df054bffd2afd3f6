import { mkdirSync, renameSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { Screen } from './rig/screen.ts'

/** Installed in the page: a dial for a session hangs, as one does while the hub reads its log, until `openUp()`. */
function hang(): void {
  const Real = WebSocket
  let slow = true
  class Hanging extends EventTarget {
    readyState = 0
    binaryType = 'blob'
    close() {
      this.readyState = 3
    }
    send() {}
  }
  Object.assign(window, {
    WebSocket: new Proxy(Real, {
      construct: (_, args: [string, string[]]) =>
        slow && args[0].includes('/sessions/') ? (new Hanging() as unknown as WebSocket) : new Real(...args),
    }),
    openUp: () => (slow = false),
  })
}

describe('a session that does not open at once', () => {
  let hub: Hub
  let device: Device

  beforeAll(async () => {
    hub = await Hub.start()
    device = await Device.pair(hub)
  })
  afterAll(async () => {
    await device.stop()
    await hub.stop()
  })

  test('is said to be opening while the hub answers otherwise, and to be out of reach when it does not', async () => {
    const session = await hub.newSession('Slow')
    await hub.turn(session, '/slow 1')
    const page = await device.browser.window()
    await page.addInitScript(hang)
    const screen = await Screen.open(page, `${device.origin}/s/${session}`)
    await page.getByText('Opening the session…').waitFor()
    await page.getByText('a long one takes a while').waitFor()
    // Longer than a lost connection takes to be called one.
    await page.waitForTimeout(4_500)
    expect(await page.getByText('No connection to the hub').count()).toBe(0)
    await hub.kill()
    await page.getByText('No connection to the hub').first().waitFor()
    await hub.start()
    await page.evaluate(() => (window as unknown as { openUp(): void }).openUp())
    await screen.reaches(session, hub.lastSeq(session))
    expect(await page.getByText('Opening the session…').count()).toBe(0)
    await page.close()
  })

  test('says why it cannot be opened, and opens again when asked once that is mended', async () => {
    const session = await hub.newSession('Broken')
    await hub.turn(session, '/slow 1')
    const last = hub.lastSeq(session)
    await hub.kill()
    const log = join(hub.data, 'sessions', session, 'events.jsonl')
    renameSync(log, `${log}.aside`)
    mkdirSync(log) // nothing a hub could read
    await hub.start()

    // By its address, and from the list.
    const direct = await device.open(`/s/${session}`)
    const why = direct.page.getByText(/This session cannot be opened: .*abide check/)
    await why.waitFor()
    await direct.page.locator('html[data-link=open]').waitFor()
    const listed = await device.open('/')
    await listed.page.getByRole('link', { name: /Broken/ }).click()
    await listed.page.getByText(/This session cannot be opened/).waitFor()
    await listed.page.getByRole('button', { name: 'More' }).click()
    await listed.page.getByRole('menuitem', { name: 'Open again' }).waitFor()
    await listed.page.close()

    await direct.page.getByRole('button', { name: 'Open again' }).click()
    await direct.page.getByText(/It cannot be opened yet/).waitFor()
    rmdirSync(log)
    renameSync(`${log}.aside`, log)
    await direct.page.getByRole('button', { name: 'Open again' }).click()
    await direct.reaches(session, last)
    await why.waitFor({ state: 'detached' })
    await hub.turn(session, '/slow 1')
    await direct.reaches(session, hub.lastSeq(session))
    expect(direct.errors).toEqual([])
    await direct.page.close()
  })
})
