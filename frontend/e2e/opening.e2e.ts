import { mkdirSync, renameSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ClientMessage } from '../src/wire/gen.ts'
import { expectWhole } from './rig/oracle.ts'
import { paired } from './rig/paired.ts'
import { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

/** Runs in the page: sockets for a session hang until `openUp()`, as while the hub reads the session's log. */
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
  const at = paired()

  test('is shown as opening while the hub answers other requests, and as unreachable when it does not', async () => {
    const session = await at.hub.newSession('Slow')
    await at.hub.turn(session, '/slow 1')
    const page = await at.device.browser.window()
    await page.addInitScript(hang)
    const screen = await Screen.open(page, `${at.device.origin}/s/${session}`)
    await page.getByText('Opening the session…').waitFor()
    await page.getByText('a long one takes a while').waitFor()
    // Longer than a lost connection takes to be shown.
    await page.waitForTimeout(4_500)
    expect(await page.getByText('No connection to the hub').count()).toBe(0)
    await at.hub.kill()
    await page.getByText('No connection to the hub').first().waitFor()
    await at.hub.start()
    await page.evaluate(() => (window as unknown as { openUp(): void }).openUp())
    await screen.reaches(session, at.hub.lastSeq(session))
    await expect.poll(() => page.getByText('Opening the session…').count()).toBe(0)
    await page.close()
  })

  test('requested twice is shown by the answer to the second request, without an error for the first', async () => {
    const session = await at.hub.newSession('Asked twice')
    await at.hub.turn(session, '/slow 1')
    const page = await at.device.browser.window()
    // A hub that is still working on the first request answers in this order. The real one is too fast for that.
    const asked: string[] = []
    await page.routeWebSocket(/\/api\//, (client) => {
      const server = client.connectToServer()
      client.onMessage((text) => {
        const frame = JSON.parse(String(text)) as ClientMessage
        if (frame.type === 'observe') asked.push(frame.request_id)
        if (frame.type === 'observe' && asked.length === 1) return
        if (frame.type === 'observe') {
          const overtaken = { type: 'error', request_id: asked[0], session_id: session, code: 'conflict' }
          client.send(JSON.stringify({ ...overtaken, message: 'another observe came before' }))
        }
        server.send(text)
      })
    })
    const screen = await Screen.open(page, `${at.device.origin}/`)
    await page.locator('html[data-link=open]').waitFor()
    await screen.go(`/s/${session}`)
    await until('the first', () => asked.length === 1)
    await screen.go('/')
    await page.locator('html[data-session=""]').waitFor()
    await screen.go(`/s/${session}`)
    await screen.reaches(session, at.hub.lastSeq(session))
    await at.hub.turn(session, '/slow 2')
    await expectWhole(screen, at.hub, session)
    expect(asked).toHaveLength(2)
    expect(await page.locator('[data-problem]').count()).toBe(0)
    await page.close()
  })

  test('shows why it cannot be opened, and opens on a retry once that is repaired', async () => {
    const session = await at.hub.newSession('Broken')
    await at.hub.turn(session, '/slow 1')
    const last = at.hub.lastSeq(session)
    await at.hub.kill()
    const log = join(at.hub.data, 'sessions', session, 'events.jsonl')
    renameSync(log, `${log}.aside`)
    mkdirSync(log) // a folder in place of the log cannot be read
    await at.hub.start()

    // Opened by its address, and from the list.
    const direct = await at.device.open(`/s/${session}`)
    const why = direct.page.getByText(/This session cannot be opened: .*abide check/)
    await why.waitFor()
    await direct.page.locator('html[data-link=open]').waitFor()
    const listed = await at.device.open('/')
    await listed.page.getByRole('link', { name: /Broken/ }).click()
    await listed.page.getByText(/This session cannot be opened/).waitFor()
    await listed.page.getByRole('button', { name: 'Open again' }).waitFor()
    await listed.page.close()

    await direct.page.getByRole('button', { name: 'Open again' }).click()
    await direct.page.getByText(/It cannot be opened yet/).waitFor()
    rmdirSync(log)
    renameSync(`${log}.aside`, log)
    await direct.page.getByRole('button', { name: 'Open again' }).click()
    await direct.reaches(session, last)
    await why.waitFor({ state: 'detached' })
    await at.hub.turn(session, '/slow 1')
    await direct.reaches(session, at.hub.lastSeq(session))
    expect(direct.errors).toEqual([])
    await direct.page.close()
  })
})
