// The functions that the bench runs in a page to measure it.
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { CDPSession, Page } from 'playwright-core'
import type { Screen } from './screen.ts'

/** Throttles a page's processor and network until the returned session is detached. */
export async function throttled(
  page: Page,
  o: { cache?: boolean; slow4G?: boolean; cpu?: number },
): Promise<CDPSession> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Network.enable')
  if (o.cache === false) {
    await cdp.send('Network.setCacheDisabled', { cacheDisabled: true })
    await cdp.send('Network.setBypassServiceWorker', { bypass: true })
  }
  if (o.slow4G) {
    const throughput = (1.6 * 1024 * 1024) / 8
    await cdp.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 150,
      downloadThroughput: throughput,
      uploadThroughput: throughput / 2,
    })
  }
  if (o.cpu) await cdp.send('Emulation.setCPUThrottlingRate', { rate: o.cpu })
  return cdp
}

export interface Vitals {
  /** First contentful paint, first key handled, and total blocking time, in milliseconds. */
  fcp: number
  key: number
  tbt: number
  /** Cumulative layout shift. */
  cls: number
}

/**
 * Runs in the page before the app: collects the figures of the start in `window.vitals`.
 */
export function watchVitals(): void {
  const vitals: Vitals = { fcp: 0, key: 0, tbt: 0, cls: 0 }
  Object.assign(window, { vitals })
  addEventListener('input', () => (vitals.key ||= performance.now()), true)
  new PerformanceObserver((l) => (vitals.fcp = l.getEntries()[0]!.startTime)).observe({
    type: 'paint',
    buffered: true,
  })
  new PerformanceObserver((l) => {
    for (const e of l.getEntries()) vitals.tbt += Math.max(0, e.duration - 50)
  }).observe({ type: 'longtask', buffered: true })
  new PerformanceObserver((l) => {
    for (const e of l.getEntries()) vitals.cls += (e as unknown as { value: number }).value
  }).observe({ type: 'layout-shift', buffered: true })
}

/**
 * Presses a key in the composer as soon as the session is rendered up to seq. It uses the browser's
 * protocol directly: Playwright's script in the page would be part of the figure.
 */
export async function pressKey(cdp: CDPSession, seq: number): Promise<void> {
  const ready = `new Promise((resolve) => {
    const look = () => {
      const composer = document.querySelector('textarea')
      const { seq } = document.documentElement.dataset
      if (!composer || !(Number(seq) >= ${seq}) || !document.querySelector('article[data-key]'))
        return requestAnimationFrame(look)
      composer.focus()
      resolve()
    }
    look()
  })`
  await cdp.send('Runtime.evaluate', { expression: ready, awaitPromise: true })
  await cdp.send('Input.dispatchKeyEvent', { type: 'keyDown', key: 'x', text: 'x' })
  await cdp.send('Input.dispatchKeyEvent', { type: 'keyUp', key: 'x' })
}

/** Runs in the page: follows a link to a seq. Returns the milliseconds until its row is in view. */
export async function jump({ id, seq }: { id: string; seq: number }): Promise<number> {
  const link = document.createElement('a')
  link.href = `/s/${id}?seq=${seq}`
  document.body.append(link)
  const from = performance.now()
  link.click()
  const there = () =>
    [...document.querySelectorAll<HTMLElement>('article[data-seq]')].some((r) => {
      const box = r.getBoundingClientRect()
      const { seq: first, last } = r.dataset
      return Number(first) <= seq && seq <= Number(last) && box.top < innerHeight && box.bottom > 0
    })
  while (!there()) {
    if (performance.now() - from > 5_000) throw new Error(`seq ${seq} did not come into view`)
    await new Promise((r) => requestAnimationFrame(r))
  }
  link.remove()
  return performance.now() - from
}

/** Runs in the page: moves the player's timeline to a seq. Returns the milliseconds from the input to the painted frame. */
export async function seekFilm(seq: number): Promise<number> {
  const timeline = document.querySelector<HTMLInputElement>('input[aria-label=Timeline]')!
  const from = performance.now()
  timeline.value = String(seq)
  timeline.dispatchEvent(new Event('input', { bubbles: true }))
  const there = () => {
    if (!document.querySelector(`[data-play="${seq}"][data-busy=false]`)) return false
    return [...document.querySelectorAll<HTMLElement>('article[data-last]')].some((row) => {
      const box = row.getBoundingClientRect()
      return Number(row.dataset['last']) === seq && box.top < innerHeight && box.bottom > 0
    })
  }
  while (!there()) {
    if (performance.now() - from > 5_000) throw new Error(`event ${seq} did not come into view`)
    await new Promise((r) => requestAnimationFrame(r))
  }
  // A task that was queued in a frame's callback runs after that frame is painted.
  await new Promise((r) => requestAnimationFrame(() => setTimeout(r)))
  timeline.dispatchEvent(new Event('change', { bubbles: true }))
  return performance.now() - from
}

/** Runs in the page: scrolls the feed from its middle. Returns the time of each frame and of the longest task. */
export async function scrollFrames(): Promise<{ frames: number[]; longest: number }> {
  const feed = document.querySelector('[role=feed]')!
  feed.scrollTop = feed.scrollHeight / 2
  let longest = 0
  const watch = new PerformanceObserver((l) => {
    for (const e of l.getEntries()) longest = Math.max(longest, e.duration)
  })
  await new Promise((resolve) => setTimeout(resolve, 500))
  watch.observe({ type: 'longtask' })
  const frames: number[] = []
  let before = await new Promise<number>((r) => requestAnimationFrame(r))
  for (let i = 0; i < 120; i++) {
    feed.scrollTop += 60
    const now = await new Promise<number>((r) => requestAnimationFrame(r))
    frames.push(now - before)
    before = now
  }
  watch.disconnect()
  return { frames, longest }
}

/** Runs in the page: records when the frame that shows seq has been painted. */
export function paintedAt(seq: number): void {
  const painted = new Promise<number>((resolve) => {
    const look = () => {
      const shown =
        Number(document.documentElement?.dataset['seq']) >= seq && document.querySelector('article[data-key]')
      if (shown) requestAnimationFrame(() => setTimeout(() => resolve(Date.now())))
      else requestAnimationFrame(look)
    }
    look()
  })
  Object.assign(window, { painted })
}

export function painted(screen: Screen): Promise<number> {
  return screen.page.evaluate(() => (window as unknown as { painted: Promise<number> }).painted)
}

export function size(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((f) => f.isFile())
    .reduce((n, f) => n + statSync(join(f.parentPath, f.name)).size, 0)
}

/**
 * Opens an address without the cache, and returns the scripts that were asked for before a part of the page was there, with
 * their sizes as gzip makes them.
 */
export async function scriptsUntil(page: Page, url: string, there: string) {
  const cdp = await throttled(page, { cache: false })
  const bodies = new Map<string, Promise<Buffer>>()
  page.on('response', (r) => {
    if (r.request().resourceType() === 'script')
      bodies.set(
        r.url(),
        r.body().catch(() => Buffer.alloc(0)),
      )
  })
  await page.addInitScript((part) => {
    new MutationObserver((_, watching) => {
      if (!document.querySelector(part)) return
      watching.disconnect()
      Object.assign(window, { there: performance.now() })
    }).observe(document, { subtree: true, childList: true })
  }, there)
  await page.goto(url)
  await page.waitForFunction(() => 'there' in window)
  const names = await page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .filter((e) => e.startTime < (window as unknown as { there: number }).there)
      .map((e) => e.name),
  )
  const files = names.flatMap((name) => (bodies.has(name) ? [{ name, body: bodies.get(name)! }] : []))
  const weighed = await Promise.all(
    files.map(async ({ name, body }) => ({
      name: name.slice(name.lastIndexOf('/') + 1),
      bytes: gzipSync(await body, { level: 9 }).length,
    })),
  )
  await cdp.detach()
  return weighed
}
