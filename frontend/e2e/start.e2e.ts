// The start of the app: the chunks that its first screen waits for, and the behaviour if a chunk
// cannot be loaded or a part throws.
import { beforeAll, describe, expect, test } from 'vitest'
import { paired } from './rig/paired.ts'
import { Screen } from './rig/screen.ts'
import { elapse, until } from './rig/until.ts'

describe('a page that starts', () => {
  const at = paired()
  let session: string

  beforeAll(async () => {
    session = await at.hub.newSession('Begun')
    await at.hub.turn(session, '/burst 40')
  })

  test('registers the service worker once, 3 s after its first screen, to keep the network free', async () => {
    const page = await at.device.browser.window()
    await page.addInitScript(noteStart)
    const screen = await Screen.open(page, `${at.device.origin}/s/${session}`)
    await screen.reaches(session, at.hub.lastSeq(session))
    const noted = () => page.evaluate(() => (window as unknown as { noted: Start }).noted)
    await until('the registration', async () => (await noted()).registered.length > 0)
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null)
    const { first, registered } = await noted()
    expect(registered).toHaveLength(1)
    // 100 ms of tolerance: the recorded time of the first screen is not exactly that of the app's timer.
    expect(registered[0]! - first!).toBeGreaterThan(2_900)
    expect(screen.errors).toEqual([])
    await page.close()
  })

  test('renders the rows of its session after the frame, however late their chunk is loaded', async () => {
    const page = await at.device.browser.window()
    await page.goto(at.device.origin)
    await page.evaluate(leaveWorker)
    await page.addInitScript(
      () => (navigator.serviceWorker.register = () => Promise.reject(new Error('not here'))),
    )
    await page.addInitScript(noteFrame)
    let bring = () => {}
    const wanted = new Promise<void>((resolve) => (bring = resolve))
    let asked = false
    await page.route(/\/assets\/Session-[^/]*\.js/, async (route) => {
      asked = true
      await wanted
      await route.continue()
    })
    const screen = new Screen(page)
    // The load event waits for this chunk, too, so do not wait for it.
    await page.goto(`${at.device.origin}/s/${session}`, { waitUntil: 'commit' })
    await page.waitForFunction(
      (seq) => Number(document.documentElement.dataset['seq']) >= seq,
      at.hub.lastSeq(session),
    )
    expect(asked).toBe(true)
    bring()
    await screen.feed.locator('article').first().waitFor()
    expect(await page.evaluate(() => (window as unknown as { together?: boolean }).together)).toBe(false)
    expect(screen.errors).toEqual([])
    await page.close()
  })

  test('shows the text of its session although the chunk that draws Markdown never comes', async () => {
    const page = await at.device.browser.window()
    await page.goto(at.device.origin)
    await page.evaluate(leaveWorker)
    await page.addInitScript(
      () => (navigator.serviceWorker.register = () => Promise.reject(new Error('not here'))),
    )
    let asked = false
    // Like a request whose connection died while the device slept: no answer and no end.
    await page.route(/\/assets\/prose-[^/]*\.js/, () => void (asked = true))
    const screen = new Screen(page)
    await page.goto(`${at.device.origin}/s/${session}`, { waitUntil: 'commit' })
    await screen.feed.locator('article').first().waitFor()
    expect(asked).toBe(true)
    expect(screen.errors).toEqual([])
    await page.close()
  })

  test('renders the rows of its session also while it is hidden', async () => {
    const page = await at.device.browser.window()
    await at.device.cover(page)
    await until('the page to be hidden', () => page.evaluate(() => document.visibilityState === 'hidden'))
    const screen = await Screen.open(page, `${at.device.origin}/s/${session}`)
    await screen.reaches(session, at.hub.lastSeq(session))
    await screen.feed.locator('article').first().waitFor()
    expect(await page.evaluate(() => document.visibilityState)).toBe('hidden')
    await page.close()
  })

  test('shows an error in place of a chunk that failed to load, keeps the rest, and loads it on a retry', async () => {
    const page = await at.device.browser.window()
    await page.goto(at.device.origin)
    await page.evaluate(leaveWorker)
    await page.addInitScript(
      () => (navigator.serviceWorker.register = () => Promise.reject(new Error('not here'))),
    )
    const screen = await Screen.open(page, at.device.origin)
    await page.getByRole('link', { name: /Begun/ }).waitFor()
    await screen.page.route(/\/assets\/Settings-/, (route) => route.abort())
    await screen.go('/settings')
    const failed = screen.page.getByRole('alert').filter({ hasText: 'could not be loaded' })
    await failed.waitFor()
    await screen.page.getByRole('link', { name: /Begun/ }).waitFor()
    await failed.getByRole('button', { name: 'Reload' }).waitFor()
    await screen.page.unroute(/\/assets\/Settings-/)
    await failed.getByRole('button', { name: 'Try again' }).click()
    await screen.page.getByRole('heading', { name: 'Settings' }).waitFor()
    await expect.poll(() => failed.count()).toBe(0)
    await screen.page.close()
  })

  test('without a network shows an error for a chunk without calling the page outdated, and moves nothing', async () => {
    const page = await at.device.browser.window()
    await page.goto(at.device.origin)
    await page.evaluate(leaveWorker)
    await page.addInitScript(
      () => (navigator.serviceWorker.register = () => Promise.reject(new Error('not here'))),
    )
    const screen = await Screen.open(page, `${at.device.origin}/s/${session}`)
    await screen.reaches(session, at.hub.lastSeq(session))
    const title = page.locator('header h1').filter({ hasText: 'Begun' })
    const before = await title.boundingBox()
    const own = /\/assets\/index-[^/]*\.js/
    const answered = () => page.waitForResponse(own)
    const inVain = page.waitForEvent('requestfailed', (request) => own.test(request.url()))
    await page.route(own, (route) => route.abort())
    await page.route(/\/assets\/dialogs-/, (route) => route.abort())
    await page.getByRole('button', { name: 'More', exact: true }).click() // the menu is a chunk of its own
    const failed = page.getByRole('alert').filter({ hasText: 'could not be loaded' })
    await failed.waitFor()
    await inVain // the app could not check whether the hub still has the page's own file
    expect(await failed.innerText()).not.toContain('/assets/')
    expect(await title.boundingBox()).toEqual(before)
    const older = page.getByText('this page is older')
    const again = failed.getByRole('button', { name: 'Try again' })
    expect(await older.count()).toBe(0)
    await page.unroute(own)
    await Promise.all([answered(), again.click()])
    await elapse(500)
    expect(await older.count(), 'with a hub that has it').toBe(0)
    await page.route(own, (route) => route.fulfill({ status: 404 }))
    await again.click()
    await older.waitFor()
    await page.close()
  })

  test('shows the error in place of a part that throws, keeps the rest, and renders it again on a retry', async () => {
    const screen = await at.device.open('/')
    await screen.page.getByRole('link', { name: /Begun/ }).waitFor()
    // A device that is null, which no hub sends: its row throws.
    await screen.page.route('**/api/devices', (route) => route.fulfill({ json: { devices: [null] } }))
    await screen.go('/settings')
    const failed = screen.page.getByRole('alert').filter({ hasText: 'This part of the app failed: ' })
    await failed.waitFor()
    await expect.poll(() => failed.innerText(), { message: 'the words of the error' }).toMatch(/null/)
    await until('the error, told to the console too', () => screen.errors.length > 0)
    // The list still works, also with new sessions.
    await at.hub.newSession('Come meanwhile')
    await screen.page.getByRole('link', { name: /Come meanwhile/ }).waitFor()
    await screen.page.unroute('**/api/devices')
    await failed.getByRole('button', { name: 'Try again' }).click()
    await screen.page.locator('[data-device]').first().waitFor()
    await expect.poll(() => failed.count()).toBe(0)
    await screen.page.close()
  })
})

/** The times at which the first screen appeared and a service worker was registered. */
interface Start {
  first?: number
  registered: number[]
}

/** Runs in the page before the app: records whether a session's frame was rendered together with its rows. */
function noteFrame(): void {
  new MutationObserver((_, watching) => {
    if (!document.querySelector('main.session')) return
    Object.assign(window, { together: document.querySelector('[role=feed]') !== null })
    watching.disconnect()
  }).observe(document, { childList: true, subtree: true })
}

/** Runs in the page: unregisters the service worker, so that the next page loads its files from the hub. */
async function leaveWorker(): Promise<void> {
  for (const worker of await navigator.serviceWorker.getRegistrations()) await worker.unregister()
}

/** Runs in the page before the app: records the times of `Start`. */
function noteStart(): void {
  const noted: Start = { registered: [] }
  Object.assign(window, { noted })
  new MutationObserver((_, watching) => {
    if (!document.querySelector('#app .app')) return
    noted.first = performance.now()
    watching.disconnect()
  }).observe(document, { childList: true, subtree: true })
  const container = Object.getPrototypeOf(navigator.serviceWorker) as ServiceWorkerContainer
  const register = container.register
  container.register = function (this: ServiceWorkerContainer, ...of) {
    noted.registered.push(performance.now())
    return register.apply(this, of)
  }
}

describe('a browser that lacks one interface', () => {
  const at = paired()
  /**
   * Takes it away before the page's own scripts. Without IndexedDB the key of a paired browser is out of reach: the
   * token it got with that is good for a day.
   */
  const without: Record<string, () => void> = {
    Notification: () => delete (window as Partial<typeof globalThis>).Notification,
    serviceWorker: () => delete (Navigator.prototype as { serviceWorker?: unknown }).serviceWorker,
    PushManager: () => delete (window as Partial<typeof globalThis>).PushManager,
    clipboard: () => delete (Navigator.prototype as { clipboard?: unknown }).clipboard,
    localStorage: () =>
      Object.defineProperty(window, 'localStorage', {
        get() {
          throw new DOMException('denied', 'SecurityError')
        },
      }),
    BroadcastChannel: () => delete (window as Partial<typeof globalThis>).BroadcastChannel,
    locks: () => delete (Navigator.prototype as { locks?: unknown }).locks,
    IntersectionObserver: () => delete (window as Partial<typeof globalThis>).IntersectionObserver,
    requestIdleCallback: () => delete (window as Partial<typeof globalThis>).requestIdleCallback,
    visualViewport: () => Object.defineProperty(window, 'visualViewport', { value: null }),
    ResizeObserver: () => delete (window as Partial<typeof globalThis>).ResizeObserver,
    indexedDB: () => Object.defineProperty(window, 'indexedDB', { value: undefined }),
    randomUUID: () => delete (Crypto.prototype as Partial<Crypto>).randomUUID,
  }

  test.each(Object.keys(without))('%s lists sessions, opens one and sends a prompt', async (name) => {
    const id = await at.hub.newSession(`Without ${name}`)
    const page = await at.device.browser.window()
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(String(error)))
    await page.addInitScript(without[name]!)
    await page.goto(at.device.origin)
    await page
      .getByRole('link', { name: new RegExp(`Without ${name}`) })
      .first()
      .click()
    await page.getByRole('textbox', { name: 'Prompt', exact: true }).fill('/markdown')
    await page.keyboard.press('Control+Enter')
    await at.hub.event(id, 'turn_end')
    await page.getByRole('feed').getByRole('table').first().waitFor()
    expect(errors).toEqual([])
    await page.close()
  })
})
