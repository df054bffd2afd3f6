// Pictures of every screen at two sizes in two themes: node dev/shots.mjs [folder] [name…]
import { mkdirSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { preview } from './preview.mjs'

const [folder = 'test-results/shots', ...only] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-quic',
]
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: flags })
const first = '20260221-140307-9f3a11c0'
const asking = '20260221-093000-33cc44dd'

const screens = {
  sessions: { path: '/' },
  session: { path: `/s/${first}`, ready: '[data-key]' },
  top: {
    path: `/s/${first}`,
    ready: '[data-key]',
    act: (page) => page.evaluate(() => (document.querySelector('[role=feed]').scrollTop = 0)),
  },
  permission: { path: `/s/${asking}`, ready: '[data-permission]' },
  working: {
    path: `/s/${first}`,
    ready: '[data-key]',
    act: async (page) => {
      await page.fill('[data-composer]', 'Now do the same for the uploader, and stop on 401.')
      await page.keyboard.press('Control+Enter')
      await page.waitForSelector('[data-permission]')
      await page.fill('[data-composer]', 'Then write a changelog line')
      await page.keyboard.press('Control+Enter')
      await page.waitForSelector('section[aria-label=Queue]')
    },
  },
  details: {
    path: `/s/${first}`,
    ready: '[data-key]',
    act: (page) => page.getByLabel('Details').first().click(),
  },
  palette: { path: `/s/${first}`, ready: '[data-key]', act: (page) => page.keyboard.press('Control+k') },
  create: { path: '/', act: (page) => page.getByText('New session').click() },
  settings: { path: '/settings' },
  pair: { path: '/', before: (hub) => (hub.paired = false), ready: 'form' },
}

const problems = []
for (const [name, screen] of Object.entries(screens)) {
  if (only.length > 0 && !only.includes(name)) continue
  for (const [size, viewport] of Object.entries({
    phone: { width: 390, height: 844 },
    desktop: { width: 1280, height: 800 },
  })) {
    for (const colorScheme of ['light', 'dark']) {
      const { url, hub, stop } = await preview({ pace: 2 })
      screen.before?.(hub)
      const context = await browser.newContext({
        viewport,
        colorScheme,
        hasTouch: size === 'phone',
        isMobile: size === 'phone',
        deviceScaleFactor: 1,
      })
      const page = await context.newPage()
      page.on(
        'console',
        (m) => ['error', 'warning'].includes(m.type()) && problems.push(`${name}: ${m.text()}`),
      )
      page.on('pageerror', (e) => problems.push(`${name}: ${e.message}`))
      await page.goto(url + screen.path)
      if (screen.ready) await page.waitForSelector(screen.ready)
      await screen.act?.(page)
      await page.waitForTimeout(700)
      await page.screenshot({ path: `${folder}/${name}-${size}-${colorScheme}.png` })
      await context.close()
      await stop()
    }
  }
}
await browser.close()
console.log([...new Set(problems)].join('\n') || 'no complaint in any console')
