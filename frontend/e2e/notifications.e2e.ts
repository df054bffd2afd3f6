// Notifications: the service worker's handling of pushes and of taps on them, and the settings, in a
// browser that allows notifications and in one that does not. No real push service is used: DevTools
// deliver the pushes.
import { describe, expect, test } from 'vitest'
import type { CDPSession, Page, Worker } from 'playwright-core'
import type { JobInfo } from '../src/wire/gen.ts'
import { barriers } from './rig/axe.ts'
import { desktop, phone } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { PushService } from './rig/pushservice.ts'
import { until } from './rig/until.ts'

interface Shown {
  title: string
  body: string
  silent: boolean
  actions: string[]
}

describe('notifications', () => {
  const at = paired({
    hub: {
      clientFiles: true,
      config: 'outgoing: {allow: [127.0.0.1]}\n', // the address of the fake push service
    },
  })

  async function permit(setting: 'granted' | 'denied' | 'prompt', page: Page): Promise<CDPSession> {
    const cdp = await at.device.browser.context.newCDPSession(page)
    const permission = { name: 'notifications' }
    await cdp.send('Browser.setPermission', { permission, setting, origin: at.device.origin })
    return cdp
  }

  const shown = (page: Page) =>
    page.evaluate(async () => {
      const list = await (await navigator.serviceWorker.ready).getNotifications()
      return list.map((n) => ({
        title: n.title,
        body: n.body,
        silent: n.silent === true,
        actions: (n as unknown as { actions: { title: string }[] }).actions.map((a) => a.title),
      }))
    }) as Promise<Shown[]>

  /** Taps the notification that is shown, or one of its buttons. */
  const tap = (worker: Worker, action = '') =>
    worker.evaluate(async (action) => {
      const scope = globalThis as unknown as {
        registration: ServiceWorkerRegistration
        NotificationEvent: new (type: string, init: object) => Event
      }
      const [notification] = await scope.registration.getNotifications()
      const click = new scope.NotificationEvent('notificationclick', { notification, action })
      // `waitUntil` throws in events that the browser did not dispatch.
      Object.defineProperty(click, 'waitUntil', { value: () => {} })
      dispatchEvent(click)
    }, action)

  async function opened(
    path: string,
    setting: 'granted' | 'denied' | 'prompt',
    size = phone,
    service?: PushService,
  ) {
    const page = await at.device.browser.window(size)
    await service?.serve(page)
    const cdp = await permit(setting, page)
    await page.goto(at.device.origin + path)
    return { page, cdp }
  }

  /** Opens a page with its service worker. Returns both and a function that delivers a push. */
  async function worker(path: string) {
    const { page, cdp } = await opened(path, 'granted')
    // `ready` may resolve while the worker is still activating, and a push delivered then is lost.
    await until('the active worker', () =>
      page.evaluate(async () => (await navigator.serviceWorker.ready).active?.state === 'activated'),
    )
    // The chunk that listens to the worker's messages is loaded after the first screen.
    await page.waitForFunction(() =>
      performance.getEntriesByType('resource').some(({ name }) => name.includes('/assets/shell-')),
    )
    const { context } = at.device.browser
    const its = () => context.serviceWorkers().find((w) => w.url().startsWith(at.device.origin))
    await until('the service worker', its)
    let registrationId = ''
    cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      for (const r of registrations)
        if (r.scopeURL.startsWith(at.device.origin)) registrationId = r.registrationId
    })
    await cdp.send('ServiceWorker.enable')
    await until('the registration', () => registrationId !== '')
    const running = its()!
    await until('the permission', () => running.evaluate(() => Notification.permission === 'granted'))
    /**
     * The number of notifications that the running worker has shown. It is 0 again after the worker was
     * restarted. `getNotifications` is not used: Chromium loses a notification if it is called meanwhile.
     */
    const done = () =>
      its()!.evaluate(() => {
        const scope = globalThis as unknown as { done?: number; registration: ServiceWorkerRegistration }
        if (scope.done === undefined) {
          const { registration } = scope
          const show = registration.showNotification.bind(registration)
          registration.showNotification = async (...of) => {
            await show(...of)
            scope.done!++
          }
        }
        return (scope.done ??= 0)
      })
    /** Delivers a push until it is shown: DevTools lose a push that they deliver while they attach to the worker. */
    const push = async (message: object) => {
      let before = await done()
      const deliver = () =>
        cdp.send('ServiceWorker.deliverPushMessage', {
          origin: at.device.origin,
          registrationId,
          data: JSON.stringify(message),
        })
      await deliver()
      for (let tries = 1, now = await done(); now <= before; tries++, now = await done()) {
        before = Math.min(before, now)
        await new Promise((resolve) => setTimeout(resolve, 50))
        if (tries % 100 === 0) await deliver()
      }
    }
    return { page, push, worker: running, done }
  }

  const question = (session_id: string, over: object = {}) => ({
    kind: 'permission',
    session_id,
    seq: 3,
    tag: `abide-${session_id}`,
    title: 'Tidy up',
    body: 'Allow? rm -rf build',
    badge: 1,
    answer: {
      token: 'once',
      options: [
        { option_id: 'yes', label: 'Allow once' },
        { option_id: 'no', label: 'Reject' },
      ],
    },
    ...over,
  })

  test('a session’s question is one notification, replaced by a newer question and closed when it is settled', async () => {
    const session = await at.hub.newSession('Asks')
    const { page, push } = await worker('/')
    await push(question(session))
    await until('the question', async () => (await shown(page)).length === 1)
    expect(await shown(page)).toEqual([
      { title: 'Tidy up', body: 'Allow? rm -rf build', silent: false, actions: ['Allow once', 'Reject'] },
    ])
    await push(question(session, { seq: 9, body: 'Allow? make' }))
    await until('the newer', async () => (await shown(page))[0]?.body === 'Allow? make')
    expect(await shown(page)).toHaveLength(1)
    const back = { kind: 'withdrawn', session_id: session, tag: `abide-${session}`, badge: 0 }
    await push({ ...back, seq: 3, body: 'Answered by desk.' })
    await until('it stays', async () => (await shown(page))[0]?.silent === true)
    expect((await shown(page))[0]!.body, 'what is settled is not what is shown').toBe('Allow? make')
    await push({ ...back, seq: 9, body: 'Answered by desk.' })
    await until('nothing', async () => (await shown(page)).length === 0)
    await page.close()
  })

  test('a sleeping phone gets one push when a turn is interrupted, with the place of the interruption', async () => {
    const service = await PushService.start()
    const session = await at.hub.newSession('Long work')
    const { page } = await opened('/settings', 'granted', phone, service)
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
    await page.getByRole('button', { name: 'Turn on for this device' }).click()
    await page.getByRole('switch', { name: 'A turn was interrupted' }).waitFor()
    await page.goto(`${at.device.origin}/s/${session}`)
    await page.locator('html[data-link=open]').waitFor()

    await at.device.cover(page)
    const cdp = await at.device.browser.context.newCDPSession(page)
    await cdp.send('Page.setWebLifecycleState', { state: 'frozen' })
    await at.hub.prompt(session, '/crash')
    await until('the push', () => service.pushed.length > 0)
    const end = await at.hub.event(session, 'turn_interrupted')
    expect(service.pushed).toEqual([
      expect.objectContaining({
        session_id: session,
        seq: end.seq,
        tag: `abide-${session}`,
        title: 'Long work',
      }),
    ])
    expect([...service.encodings]).toEqual(['aes128gcm'])

    // A tap opens this address, as a later test shows.
    await cdp.send('Page.setWebLifecycleState', { state: 'active' })
    await at.device.uncover(page)
    await page.goto(`${at.device.origin}/s/${session}?seq=${end.seq}`)
    await page.locator('.hit').getByText('The agent ended').waitFor()
    await page.close()
    await service.stop()
  })

  test('a sleeping phone gets one push when a job ends, which opens at its summary and its changes', async () => {
    const service = await PushService.start()
    const { page } = await opened('/settings', 'granted', phone, service)
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
    await page.getByRole('button', { name: 'Turn on for this device' }).click()
    await page.getByRole('switch', { name: 'A turn was interrupted' }).waitFor()
    await page.goto(`${at.device.origin}/jobs`)
    await page.locator('html[data-link=open]').waitFor()
    const cdp = await at.device.browser.context.newCDPSession(page)
    await at.device.cover(page)
    await cdp.send('Page.setWebLifecycleState', { state: 'frozen' })
    const { job_id } = await at.hub.api<JobInfo>('POST', '/api/jobs', {
      agent: 'demo',
      workspace: at.hub.workspace,
      task: '/fs',
      policy: { preset: 'edit' },
    })
    const job = await until('its end', async () => {
      const job = await at.hub.api<JobInfo>('GET', `/api/jobs/${job_id}`)
      return job.finished_at ? job : null
    })
    expect(job.status).toBe('completed')
    await until('the push', () => service.pushed.length > 0)
    expect(service.pushed).toEqual([
      expect.objectContaining({ kind: 'job', session_id: job_id, tag: `abide-${job_id}` }),
    ])
    // By hand: for minutes, as in a pocket.
    const asleep = Number(process.env['ABIDE_ASLEEP'] ?? 0)
    if (asleep > 0) await new Promise((resolve) => setTimeout(resolve, asleep))

    // A tap opens this address, as a later test shows.
    await cdp.send('Page.setWebLifecycleState', { state: 'active' })
    await at.device.uncover(page)
    await page.goto(`${at.device.origin}/s/${job_id}?seq=${service.pushed[0]!.seq}`)
    const result = page.getByRole('region', { name: 'Job' }).getByRole('group', { name: 'Result' })
    await result.getByText('I wrote three lines').waitFor()
    await result.getByRole('group', { name: 'Changes in demo-agent.txt' }).waitFor()
    await page.close()
    await service.stop()
  })

  test('a push that cannot be parsed still shows a notification', async () => {
    const { page, push, worker: its } = await worker('/')
    await push([])
    await until('something', async () => (await shown(page)).length === 1)
    expect((await shown(page))[0]).toMatchObject({ title: 'abide', body: 'A session needs you.' })
    await its.evaluate(async () => {
      const scope = globalThis as unknown as { registration: ServiceWorkerRegistration }
      for (const n of await scope.registration.getNotifications()) n.close()
    })
    // A closed notification is still listed for a moment, and would disturb the next test.
    await until('nothing', async () => (await shown(page)).length === 0)
    await page.close()
  })

  test('a device with a new push address shows a notification to open the app once', async () => {
    const { page, worker: its, done } = await worker('/')
    const before = await done()
    await its.evaluate(() => dispatchEvent(new Event('pushsubscriptionchange')))
    await until('a notification', async () => (await done()) > before)
    expect((await shown(page))[0]?.body).toContain('keep getting notifications')
    await tap(its)
    await page.waitForURL('**/settings')
    await until('nothing', async () => (await shown(page)).length === 0)
    await page.close()
  })

  test('Allow once answers with the token only, and a late answer shows that it did not count', async () => {
    const session = await at.hub.newSession('Asks')
    const { page, push, worker: its, done } = await worker('/')
    await its.evaluate(() => {
      const scope = globalThis as unknown as { asked: unknown[]; fetch: typeof fetch }
      const real = scope.fetch
      scope.asked = []
      scope.fetch = (url, request) => {
        scope.asked.push([url, request?.method, request?.credentials, request?.body])
        return real(url, request)
      }
    })
    await push(question(session))
    await until('the question', async () => (await shown(page))[0]?.title === 'Tidy up')
    const before = await done()
    await tap(its, '0')
    await until('the refusal', async () => (await done()) > before)
    expect((await shown(page))[0]!.body).toMatch(/^Not answered\./)
    expect(await its.evaluate(() => (globalThis as unknown as { asked: unknown[] }).asked)).toEqual([
      ['/api/answer', 'POST', 'omit', JSON.stringify({ token: 'once', option_id: 'yes' })],
    ])
    const [late] = await shown(page)
    expect(late, 'the hub does not know this token').toMatchObject({ actions: [] })
    expect(late!.body).toContain('too late')
    await tap(its)
    await page.waitForURL(`**/s/${session}?seq=3`)
    await until('nothing', async () => (await shown(page)).length === 0)
    await page.close()
  })

  test('the settings show that the push service does not accept the device', async () => {
    const { page } = await opened('/settings', 'granted')
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
    await page.getByRole('button', { name: 'Turn on for this device' }).click()
    await page.getByRole('alert').getByText('did not take this device').waitFor()
    expect(await barriers(page)).toEqual([])
    await page.close()
  })

  test('the settings show that the push service is waited for, and call a session as the list does', async () => {
    const session = await at.hub.newSession('')
    const service = await PushService.start()
    // Before its first prompt it is listed while it is open.
    const { page } = await opened(`/s/${session}`, 'granted', desktop, service)
    await page
      .getByRole('link', { name: /Untitled session/ })
      .first()
      .waitFor()
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
    await page.addInitScript(() => {
      const subscribe = PushManager.prototype.subscribe
      Object.assign(PushManager.prototype, {
        async subscribe(this: PushManager, options: PushSubscriptionOptionsInit) {
          if (!('go' in window)) await new Promise((go) => Object.assign(window, { go }))
          return subscribe.call(this, options)
        },
      })
    })
    await page.goto(`${at.device.origin}/settings`)
    await page.getByRole('button', { name: 'Turn on for this device' }).click()
    await page.getByRole('status').getByText('Waiting for the browser and its push service…').waitFor()
    await page.waitForFunction(() => 'go' in window)
    await page.evaluate(() => (window as unknown as { go(): void }).go())
    const mute = page.getByLabel('Mute a session')
    await mute.selectOption({ label: 'Untitled session' })
    await page.getByText('Muted: Untitled session').waitFor()
    await page.getByRole('button', { name: 'Turn off' }).click()
    await page.getByRole('button', { name: 'Turn on for this device' }).waitFor()
    await page.close()
    await service.stop()
  })

  test('the list offers notifications once', async () => {
    await at.hub.newSession('Here')
    const { page } = await opened('/', 'prompt')
    await page.getByText('This device can tell you when a session needs you.').waitFor()
    expect(await barriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Not now' }).click()
    await page.reload()
    await page.getByText('Here').first().waitFor()
    expect(await page.getByText('This device can tell you').count()).toBe(0)
    await page.close()
  })

  for (const size of [phone, desktop])
    describe(`the settings at ${size.width}`, () => {
      test('show that the browser blocks notifications', async () => {
        const { page } = await opened('/settings', 'denied', size)
        await page
          .getByText('Notifications are blocked. Allow them in the browser’s site settings, then reload.')
          .waitFor()
        expect(await barriers(page)).toEqual([])
        await page.close()
      })

      test('choose the notifications of this device', async () => {
        const { page } = await opened('/', 'granted', size)
        await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
        // A fake of the browser's push subscription, because the test browser has no push service.
        await page.addInitScript(() => {
          const address = () => sessionStorage.getItem('address')
          let on = address() !== null
          const subscribe = async () => {
            const pair = await crypto.subtle.generateKey({ name: 'ECDH', namedCurve: 'P-256' }, true, [
              'deriveBits',
            ])
            const raw = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey))
            const text = btoa(String.fromCharCode(...raw))
              .replaceAll('+', '-')
              .replaceAll('/', '_')
            const sub = {
              endpoint: `https://push.invalid/${address() ?? 'one'}`,
              keys: { p256dh: text.replaceAll('=', ''), auth: 'AAAAAAAAAAAAAAAAAAAAAA' },
            }
            on = true
            return { endpoint: sub.endpoint, toJSON: () => sub, unsubscribe: async () => true }
          }
          Object.assign(PushManager.prototype, {
            subscribe,
            getSubscription: async () => (on ? subscribe() : null),
          })
        })
        await page.goto(`${at.device.origin}/settings`)
        await page.getByRole('button', { name: 'Turn on for this device' }).click()
        const box = page.getByRole('switch', { name: 'A turn was interrupted' })
        await box.waitFor()
        await expect.poll(() => box.isChecked()).toBe(true)
        await box.click()
        await page.getByText('Saved.').waitFor()
        expect(await box.isChecked()).toBe(false)
        // The push service gives the browser a new address: the page sends it to the hub, which keeps the choice.
        await page.evaluate(() => sessionStorage.setItem('address', 'two'))
        const gone = page.waitForRequest((request) => request.method() === 'DELETE')
        await page.reload()
        await gone
        await box.waitFor()
        await expect.poll(() => box.isChecked()).toBe(false)
        await page.getByRole('switch', { name: /^Quiet hours/ }).click()
        await page.getByLabel('from').waitFor()
        expect(await barriers(page)).toEqual([])
        await page.getByRole('button', { name: 'Turn off' }).click()
        await page.getByRole('button', { name: 'Turn on for this device' }).waitFor()
        await page.close()
      })
    })
})
