// Another program had the hub's port while the hub was down, and left service workers and files in the browser.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { expect, test } from 'vitest'
import { desktop } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { until } from './rig/until.ts'

/** Counts a run of the stranger's code, and tries the hub's API as the page. */
const loot = `
  localStorage.setItem('stranger.runs', 1 + Number(localStorage.getItem('stranger.runs')))
  void fetch('/api/sessions').then((answer) => answer.headers.get('stranger') || !answer.ok || localStorage.setItem('stranger.took', '1'))`

const page = (
  workers: [path: string, scope: string][],
  files: string[],
) => `<!doctype html><title>stranger</title><script>${loot}
  void (async () => {
    for (const file of ${JSON.stringify(files)}) await fetch(file)
    for (const [path, scope] of ${JSON.stringify(workers)}) {
      const made = await navigator.serviceWorker.register(path, { scope })
      await made.update() // of an address that was registered before, only this waits for the new file
      while (made.installing || made.waiting || made.active?.state !== 'activated') await new Promise((again) => setTimeout(again, 20))
    }
    document.title = 'settled'
  })()</script>`

/** A worker that answers for the hub whether there is one or not. */
const worker = (html: string) => `
  addEventListener('install', () => self.skipWaiting())
  addEventListener('activate', (event) => event.waitUntil(clients.claim()))
  addEventListener('fetch', (event) => {
    if (event.request.mode !== 'navigate') return
    event.respondWith(new Response(${JSON.stringify(html)}, { headers: { 'content-type': 'text/html' } }))
  })`

async function listen(port: number, html: string): Promise<Server> {
  const server = createServer((asked, answer) => {
    const kind = asked.headers['service-worker'] || /\.js$/.test(asked.url!) ? 'text/javascript' : 'text/html'
    const body = asked.headers['service-worker'] ? worker(html) : kind === 'text/html' ? html : loot
    answer
      .writeHead(200, {
        'content-type': kind,
        stranger: '1',
        'service-worker-allowed': '/',
        'cache-control': 'max-age=31536000, immutable',
      })
      .end(body)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

test.for([
  [
    'workers of its own',
    [
      ['/thief.js', '/'],
      ['/s/thief.js', '/s/'],
    ],
  ],
  ['one at the address of the app’s', [['/sw.js', '/']]],
] as [string, [string, string][]][])(
  'a stranger who had the port left %s: after one reload none of its code runs',
  async ([, workers]) => {
    const hub = await Hub.start()
    const device = await Device.pair(hub, { size: desktop })
    const session = await hub.newSession('After a stranger')
    const index = await (await fetch(`${hub.origin}/`)).text()
    const files = [...index.matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css))"/g)].map(([, file]) => file!)
    await hub.kill()

    const html = page(workers, files)
    const stranger = await listen(Number(new URL(hub.origin).port), html)
    const window = await device.browser.window(desktop)
    await window.goto(`${hub.origin}/s/${session}`)
    await until('the stranger has settled in', async () => (await window.title()) === 'settled', 120_000)
    stranger.closeAllConnections()
    stranger.close()
    await window.reload() // its workers answer, without a server
    expect(await window.title()).toMatch(/stranger|settled/)

    await hub.start()
    await window.reload()
    const rid = () =>
      window
        .evaluate(async () => {
          const list = await navigator.serviceWorker.getRegistrations()
          const app = document.querySelector('#app') !== null && document.querySelector('.boot') === null
          return app && list.every((made) => made.active?.scriptURL === `${location.origin}/sw.js`)
        })
        .catch(() => false)
    await until('the app is back', rid, 120_000)
    const facts = () =>
      window.evaluate(() => [localStorage.getItem('stranger.runs'), localStorage.getItem('stranger.took')])
    const [runs, took] = await facts()
    expect(took, 'a request of the stranger was accepted').toBe(null)
    for (const path of [`/s/${session}`, '/', '/settings']) {
      await window.goto(hub.origin + path)
      await until(`the app at ${path}`, rid, 120_000)
    }
    expect(await facts()).toEqual([runs, null])
    await device.stop()
    expect(await hub.stop()).toBe(0)
  },
)
