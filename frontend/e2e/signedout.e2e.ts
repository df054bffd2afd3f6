import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { paired } from './rig/paired.ts'
import { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

/** Runs in the page: the number of cached pages of sessions, and all text in localStorage. */
async function read(): Promise<{ pages: number; words: string }> {
  const db = await new Promise<IDBDatabase>((done) => {
    const opening = indexedDB.open('abide')
    opening.onsuccess = () => done(opening.result)
  })
  const pages = await new Promise<number>((done) => {
    const counting = db.transaction('pages').objectStore('pages').count()
    counting.onsuccess = () => done(counting.result)
  })
  db.close()
  return { pages, words: JSON.stringify(localStorage) }
}

describe('a device whose sign-in was revoked', () => {
  const at = paired()

  test('shows it, also after a reload, and has the draft again once it is paired', async () => {
    const session = await at.hub.newSession('Cut off in secret')
    const screen = await at.device.watch(session)
    const { page, composer } = screen
    await screen.prompt('/plan')
    await at.hub.idle(session)
    const kept = () => page.evaluate(read)
    await until('the cache', async () => (await kept()).pages > 0 && (await kept()).words.includes('secret'))
    await composer.fill('half a thought')
    const { devices } = await at.hub.api<{ devices: { id: string; current?: true }[] }>('GET', '/api/devices')
    for (const { id } of devices.filter((d) => !d.current)) await at.hub.api('DELETE', `/api/devices/${id}`)

    const signedOut = page.getByRole('heading', { name: 'This device is signed out' })
    await signedOut.waitFor()
    await page.getByText('kept on this device').waitFor()
    await expect.poll(() => page.title()).toBe('abide')
    await until('nothing kept of the session', async () => (await kept()).pages === 0)
    expect((await kept()).words).not.toContain('secret')
    await page.reload()
    await signedOut.waitFor()
    await page.getByLabel('Pairing link or code').fill(at.hub.pairLink())
    await page.getByRole('button', { name: 'Pair' }).click()
    await composer.waitFor()
    await expect.poll(() => composer.inputValue()).toBe('half a thought')
  })

  test('stays paired when an old refusal arrives while it connects', async () => {
    const session = await at.hub.newSession('Refused late')
    const page = await at.device.browser.window()
    let dial = Promise.resolve()
    await page.routeWebSocket(/\/api\//, async (client) => {
      await dial
      client.connectToServer()
    })
    const { composer } = await Screen.open(page, `${at.device.origin}/s/${session}`)
    await composer.waitFor()
    const { devices } = await at.hub.api<{ devices: { id: string; current?: true }[] }>('GET', '/api/devices')
    for (const { id } of devices.filter((d) => !d.current)) await at.hub.api('DELETE', `/api/devices/${id}`)
    const signedOut = page.getByRole('heading', { name: 'This device is signed out' })
    await signedOut.waitFor()

    let ask = () => {}
    let answer = () => {}
    let connect = () => {}
    const asked = new Promise<void>((done) => (ask = done))
    const late = new Promise<void>((done) => (answer = done))
    dial = new Promise<void>((done) => (connect = done))
    const refusal = { error: { code: 'unauthorized', message: 'pair this device' } }
    await page.route(
      '**/api/health',
      async (route) => {
        ask()
        await late
        await route.fulfill({ status: 401, json: refusal })
      },
      { times: 1 },
    )
    await page.evaluate(() => dispatchEvent(new Event('online')))
    await asked
    await page.getByLabel('Pairing link or code').fill(at.hub.pairLink())
    await page.getByRole('button', { name: 'Pair' }).click()
    await signedOut.waitFor({ state: 'hidden' })
    const answered = page.waitForResponse('**/api/health')
    answer()
    await (await answered).finished()
    connect()
    await composer.fill('/plan')
    await composer.press('Enter')
    await at.hub.event(session, 'turn_end')
  })

  test('continues in every tab once one is paired, and sends their waiting prompts', async () => {
    const session = await at.hub.newSession('Cut off twice')
    const first = await at.device.watch(session)
    const { devices } = await at.hub.api<{ devices: { id: string; current?: true }[] }>('GET', '/api/devices')
    for (const { id } of devices.filter((d) => !d.current)) await at.hub.api('DELETE', `/api/devices/${id}`)
    const signedOut = (page: Page) => page.getByRole('heading', { name: 'This device is signed out' })
    await signedOut(first.page).waitFor()
    const second = await at.device.open(`/s/${session}`)
    await signedOut(second.page).waitFor()
    await second.page.getByLabel('Pairing link or code').fill(at.hub.pairLink())
    await second.page.getByRole('button', { name: 'Pair' }).click()
    await second.composer.waitFor()
    await first.composer.waitFor()
    await first.prompt('/plan')
    expect((await at.hub.event(session, 'turn_end')).data.stop_reason).toBe('end_turn')
  })
})
