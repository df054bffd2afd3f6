import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { phone as phoneSize } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

const folder = join(import.meta.dirname, 'rig/hostile')
const corpus = JSON.parse(readFileSync(join(folder, 'corpus.json'), 'utf8')) as string[]

/** An SVG file whose scripts run if a browser opens it as a document. */
const active =
  `<svg xmlns="http://www.w3.org/2000/svg" onload="window.rig.ran.push('file')">` +
  `<image href="https://evil.invalid/file"/><script>window.rig.ran.push('file')</script></svg>`

describe('hostile text', () => {
  let hub: Hub
  let device: Device
  const screens: Screen[] = []
  const kept = () => screens[screens.length - 1]!

  beforeAll(async () => {
    hub = await Hub.start({ agents: { hostile: [process.execPath, join(folder, 'agent.mjs')] } })
    device = await Device.pair(hub)
  })
  afterEach(async () => {
    // On every screen: no injected script ran, the content security policy blocked nothing, and no request left the hub.
    for (const screen of screens.splice(0)) {
      const { ran, violations } = await screen.watched()
      expect(ran, 'scripts that ran').toEqual([])
      expect(violations, 'violations of the content security policy').toEqual([])
      expect(screen.errors).toEqual([])
      expect(await suspects(screen)).toEqual([])
      const left = screen.requests.filter(
        (url) => !/^(blob|data):/.test(url) && new URL(url).host !== hub.addr,
      )
      expect(left, 'requests that left').toEqual([])
      expect(new URL(screen.page.url()).host).toBe(hub.addr)
      await screen.page.close()
    }
    expect(device.browser.context.pages().map((p) => p.url())).toEqual(['about:blank'])
  })
  afterAll(async () => {
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })

  async function watch(session: string, size?: { width: number; height: number }): Promise<Screen> {
    screens.push(await device.watch(session, size))
    return kept()
  }

  test('of an agent stays text in messages, thoughts, tools, files, diffs, plans and unknown things', async () => {
    const session = await hub.newSession('Hostile', 'hostile')
    // A tall window renders many rows at once.
    const screen = await watch(session, { width: 1280, height: 2400 })
    await screen.prompt(corpus.join('\n'))
    // While the request waits, the page shows it with every field hostile.
    await screen.permission.waitFor()
    for (const more of await screen.permission.locator('summary').all()) await more.click()
    await screen.permission.getByText('<script>').first().waitFor()
    expect(await suspects(screen)).toEqual([])
    await screen.answer('Go on')
    await hub.event(session, 'permission_outcome')
    await screen.permission.getByText('evil.invalid').first().waitFor()
    await until('the next request to be answerable', () =>
      screen.permission.locator('[data-option=yes]').isEnabled(),
    )
    await screen.answer('Go on')
    const end = await hub.event(session, 'turn_end')
    expect(end.data.stop_reason).toBe('end_turn')
    await screen.reaches(session, end.seq)
    await readAll(screen)

    const plain = await device.open(`/s/${session}/plain`, phoneSize)
    screens.push(plain)
    await readPlain(plain)
    const saved = plain.page.locator('[data-media]', { hasText: 'image/svg+xml' }).locator('a')
    await expect.poll(() => saved.getAttribute('download')).toBe('image.svg')
    await expect.poll(() => saved.getAttribute('href')).toMatch(/^blob:/)

    await screen.composer.fill('/')
    await screen.page.getByRole('option').first().waitFor()
    await screen.composer.fill('')
    await screen.page.getByRole('button', { name: 'More', exact: true }).click()
    await screen.page.getByRole('menuitem', { name: 'Rename' }).waitFor()
  })

  test('stays text on a phone, and in the list', async () => {
    const session = await hub.newSession('Hostile', 'hostile')
    await hub.prompt(session, corpus.join('\n'))
    await hub.event(session, 'permission_request')
    const screen = await watch(session, phoneSize)
    await screen.permission.waitFor()
    expect(await suspects(screen)).toEqual([])
    const list = await device.open('/', phoneSize)
    screens.push(list)
    await list.page
      .getByRole('link', { name: /Needs you/ })
      .first()
      .waitFor()
  })

  test('in a name shows reordering and invisible characters everywhere, and does not reorder the text around it', async () => {
    const session = await hub.newSession('Turned', 'hostile')
    const screen = await watch(session, { width: 1280, height: 1600 })
    const name = 'a\u202egpj.exe'
    await screen.page
      .locator('[data-picker]')
      .setInputFiles([{ name, mimeType: 'text/plain', buffer: Buffer.from('x') }])
    await screen.page.locator('[data-file]').getByText('U+202E').waitFor()
    await screen.prompt('turned')
    await screen.permission.getByText('U+202E').first().waitFor()
    await screen.answer('Go on')
    const end = await hub.event(session, 'turn_end')
    await screen.reaches(session, end.seq)
    for (const closed of await screen.feed.locator('button[aria-expanded=false]').all()) await closed.click()
    // The rows show such characters by their names, except in prose.
    expect(await bare(screen)).toEqual([])
    const plain = await device.open(`/s/${session}/plain`, phoneSize)
    screens.push(plain)
    await readPlain(plain)
    expect(await bare(plain)).toEqual([])
    await expect.poll(() => plain.page.locator('h3 mark').count()).toBe(2)
    expect(await screen.page.title()).not.toMatch(/\u202e/)
    const places = await screen.feed.evaluate((feed) =>
      [...feed.querySelectorAll('mark')].map((m) => m.closest('.title, .file, pre, .path') !== null),
    )
    expect(places.filter(Boolean).length).toBeGreaterThan(3)
    const [code, right] = await screen.feed.evaluate((feed) => [
      getComputedStyle(feed.querySelector('.prose code')!).unicodeBidi,
      getComputedStyle(feed.querySelector('.prose p')!).unicodeBidi,
    ])
    expect([code, right]).toEqual(['isolate', 'plaintext'])
  })

  test('stays text as the name of a session, wherever the name is shown', async () => {
    const session = await hub.newSession('Renamed')
    const screen = await watch(session)
    const printable = corpus.filter((words) => !/[^\x20-\x7e]/.test(words))
    expect(printable.length).toBeGreaterThan(50)
    for (const name of packed(printable)) {
      await hub.api('PATCH', `/api/sessions/${session}`, { name })
      await until(name, () => screen.page.evaluate((n) => document.title.includes(n), name))
      await screen.page.getByRole('heading', { name }).waitFor()
      expect(await suspects(screen)).toEqual([])
    }
    await expect(hub.api('PATCH', `/api/sessions/${session}`, { name: 'a\u001b]0;b' })).rejects.toThrow(/400/)
  })

  test('stays text in a person’s prompt, in the queue and in the feed', async () => {
    const session = await hub.newSession('Person')
    const screen = await watch(session)
    await screen.prompt('/ask')
    await screen.permission.waitFor()
    await screen.prompt(corpus.join('\n'))
    await screen.page.getByText('1 queued').click()
    await screen.page.getByRole('region', { name: 'Queue' }).getByText('<script>').first().waitFor()
    expect(await suspects(screen)).toEqual([])
    await screen.answer('Reject')
    await screen.permission.getByText('GREETING.md').first().waitFor() // the question of the hostile prompt's turn
    await screen.answer('Reject')
    await hub.event(session, 'turn_end', (await hub.event(session, 'turn_end')).seq)
    await readAll(screen)
  })

  test('stays text in markdown, where the built-in agent shows every kind', async () => {
    const session = await hub.newSession('Markdown')
    const screen = await watch(session)
    await hub.turn(session, '/markdown')
    await readAll(screen)
    await screen.feed.getByText("<script>alert('no')</script>").waitFor()
    const plain = await device.open(`/s/${session}/plain`)
    screens.push(plain)
    await readPlain(plain)
    await plain.page.getByText("<script>alert('no')</script>").first().waitFor()
    const links = await screen.feed
      .locator('a[href^="http"]')
      .evaluateAll((all) => all.map((a) => a.getAttribute('rel')))
    expect(links.length).toBeGreaterThan(1)
    for (const rel of links) expect(rel).toContain('noopener')
  })

  test('stays text as the name of a file, chosen and sent, and no file runs', async () => {
    const session = await hub.newSession('Files')
    const screen = await watch(session)
    const names = corpus.filter((words) => !/[^\x20-\x7e]/.test(words)).slice(0, 20)
    const files = names.map((name, i) => ({
      name,
      mimeType: ['image/svg+xml', 'text/html', 'image/png'][i % 3]!,
      buffer: Buffer.from(`${active}<!-- ${i} -->`),
    }))
    await screen.page.locator('[data-picker]').setInputFiles(files)
    await until('the chosen files', async () => (await screen.page.locator('[data-file]').count()) === 20)
    expect(await suspects(screen)).toEqual([])
    await screen.prompt('/slow 1')
    const end = await hub.event(session, 'turn_end')
    await screen.reaches(session, end.seq)
    await readAll(screen)
    const links = screen.feed.locator('a[download]')
    await expect.poll(() => links.count()).toBe(20)
    const kept = (await hub.event(session, 'user_prompt')).data.attachments!
    expect(kept.map((file) => file.name).join(' ')).toContain('script')
    for (const { sha256 } of kept) {
      // A file opened by its address, not by the link, is a download and not a page.
      const blob = await fetch(`${hub.origin}/api/sessions/${session}/blobs/${sha256}`, {
        headers: { authorization: `Bearer ${hub.token}` },
      })
      expect(blob.status).toBe(200)
      expect(blob.headers.get('content-disposition')).toMatch(/^attachment/)
      expect(blob.headers.get('x-content-type-options')).toBe('nosniff')
      expect(blob.headers.get('content-security-policy')).toMatch(/sandbox|default-src 'none'/)
    }
  })

  test('stays text as the title of a rule, and in the answers of the rule', async () => {
    const session = await hub.newSession('Rules')
    const screen = await watch(session)
    const titles = packed(corpus.filter((words) => !/[^\x20-\x7e]/.test(words)))
    for (const title of titles) {
      const rule = { scope: 'session', effect: 'allow', kind: 'execute', title }
      await hub.api('POST', `/api/sessions/${session}/rules`, rule)
    }
    // The dialog shows the title of a rule only if the rule is about one request.
    const one = { scope: 'session', effect: 'reject', kind: 'edit', subject: 'nothing asked here' }
    await hub.api('POST', `/api/sessions/${session}/rules`, { ...one, title: titles[0] })
    const { rules } = await hub.api<{ rules: { title: string }[] }>('GET', `/api/sessions/${session}/rules`)
    expect(rules.map((rule) => rule.title)).toEqual([...titles, titles[0]])
    await screen.page.getByRole('button', { name: 'Rules…', exact: true }).click()
    const dialog = screen.page.getByRole('dialog', { name: 'Rules' })
    await until('the rules', async () => (await dialog.locator('[data-rule]').count()) === rules.length)
    await dialog.getByText('<script>').first().waitFor()
    expect(await suspects(screen)).toEqual([])
    await screen.page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await screen.prompt('/ask')
    const outcome = await hub.event(session, 'permission_outcome')
    expect(JSON.stringify(outcome.data), 'the rule answered').toContain('rule')
    await screen.reaches(session, (await hub.event(session, 'turn_end')).seq)
    await readAll(screen)
  })

  test('is refused as the name of an agent in the configuration', async () => {
    for (const name of ['<script>', 'a"b', "a'b", 'a b', '../a', 'a\u202eb']) {
      const refused = await Hub.start({ agents: { [JSON.stringify(name)]: ['true'] } }).then(
        () => null,
        (error: Error) => error.message,
      )
      expect(refused, name).toContain("is not an agent's name")
    }
  })

  test('in the address has no effect', async () => {
    for (const path of [
      '/s/%3Cscript%3E',
      '/?x=<img src=x onerror="window.rig.ran.push(1)">',
      '/#pair=<img src=x>',
      '/s/x?seq=<script>',
    ]) {
      const screen = await device.open(path)
      screens.push(screen)
      await screen.page.locator('html[data-link=open]').waitFor()
    }
  })
})

/** The texts outside prose that contain an invisible or reordering character instead of its name. */
function bare(screen: Screen): Promise<string[]> {
  return screen.page.evaluate(() => {
    const found: string[] = []
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = texts.nextNode(); node; node = texts.nextNode())
      if (
        /[\u202a-\u202e\u2066-\u2069\u200b]/.test(node.nodeValue!) &&
        !node.parentElement!.closest('.prose, textarea, .visually-hidden, [aria-live]')
      )
        found.push(`${node.parentElement!.className}: ${node.nodeValue}`)
    return found
  })
}

/** Joins texts into as few names as possible. A name has at most 200 characters. */
function packed(texts: string[]): string[] {
  const names: string[] = []
  for (const text of texts) {
    const last = names.at(-1)
    if (last !== undefined && last.length + text.length < 200) names[names.length - 1] = `${last} ${text}`
    else names.push(text)
  }
  return names
}

/** Scrolls through the whole feed, opens everything that can be opened, and checks each part while it is rendered. */
async function readAll(screen: Screen): Promise<void> {
  const keys = new Set<string>()
  await screen.feed.evaluate((feed) => (feed.scrollTop = 0))
  for (;;) {
    const found = await screen.feed.evaluate(async (feed) => {
      for (const closed of feed.querySelectorAll<HTMLElement>(
        'button[aria-expanded=false], details:not([open]) > summary',
      ))
        closed.click()
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      const rows = [...feed.querySelectorAll<HTMLElement>('article[data-key]')].map(
        (row) => row.dataset['key']!,
      )
      const atEnd = feed.scrollTop + feed.clientHeight >= feed.scrollHeight - 2
      feed.scrollTop += feed.clientHeight * 0.8
      return { rows, atEnd, first: document.documentElement.dataset['firstSeq'] }
    })
    for (const key of found.rows) keys.add(key)
    expect(await suspects(screen)).toEqual([])
    if (found.first !== '1') await screen.feed.evaluate((feed) => (feed.scrollTop = 0))
    else if (found.atEnd) break
  }
  expect(keys.size).toBeGreaterThan(3)
}

/** Waits until the plain page of a session is loaded, opens everything in it, and checks it. */
async function readPlain(screen: Screen): Promise<void> {
  await screen.page.locator('.plain[aria-busy=false]').waitFor()
  await screen.page.evaluate(() => {
    for (const closed of document.querySelectorAll<HTMLElement>('details:not([open]) > summary'))
      closed.click()
  })
  await expect.poll(() => screen.page.locator('.entry').count()).toBeGreaterThan(3)
  expect(await suspects(screen)).toEqual([])
}

/** Elements and attributes that can only come from injected markup. */
function suspects(screen: Screen): Promise<string[]> {
  return screen.page.evaluate(() => {
    const found: string[] = []
    const never =
      'script, iframe, object, embed, base, meta, link, style, video, audio, svg image, svg use, svg script, math, template, form[action]'
    for (const element of document.body.querySelectorAll(never)) {
      if (element.matches('script[type=module][src^="/"]')) continue // the app itself
      found.push(element.outerHTML)
    }
    for (const element of document.body.querySelectorAll('*')) {
      for (const { name, value } of element.attributes) {
        if (/^on/i.test(name)) found.push(`${name}=${value}`)
        // A file from an agent is a download from a blob: address, with a type that does not run.
        const saved = element.matches('a[download]') && value.startsWith(`blob:${location.origin}/`)
        if (/^(xlink:)?href$/.test(name) && !saved && !/^(https?:|mailto:|\/|#)/.test(value))
          found.push(`${name}=${value}`)
        if (name === 'src' && !/^(data:image\/(png|jpeg|gif|webp);|blob:|\/)/.test(value))
          found.push(`${name}=${value}`)
      }
    }
    return found
  })
}
