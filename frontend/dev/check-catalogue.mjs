// Looks at every state of the catalogue at two sizes in two themes: what axe
// finds serious, and what the console says. Pictures go where the first
// argument says. Exits 1 on a finding.
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'
import { createServer } from 'vite'

const folder = process.argv[2]
if (folder) mkdirSync(folder, { recursive: true })
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const server = await createServer({ server: { port: 0, host: '127.0.0.1' }, logLevel: 'error' })
await server.listen()
const base = `http://127.0.0.1:${server.httpServer.address().port}/catalogue.html`
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
})
const findings = new Map()
const find = (what, where) => findings.set(what, [...(findings.get(what) ?? []), where])

const page = await browser.newPage()
let name = ''
page.on('console', (m) => m.type() === 'error' && find(m.text(), name))
page.on('pageerror', (e) => find(String(e), name))
// Vite reloads the page while it meets dependencies for the first time.
const visit = async (url) => {
  for (let tries = 3; ; tries--) {
    try {
      return await page.goto(url)
    } catch (error) {
      if (tries === 0) throw error
    }
  }
}
await page.route('**/*state=*', (route) => route.abort())
await visit(base)
await page.waitForSelector('h2', { timeout: 60_000 })
const names = await page.$$eval('h2', (all) => all.map((h) => h.textContent))
await page.unroute('**/*state=*')
findings.clear()
for (name of names) {
  for (const [size, viewport] of Object.entries({
    phone: { width: 390, height: 844 },
    desktop: { width: 1280, height: 800 },
  })) {
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
    await visit(`${base}?state=${encodeURIComponent(name)}`)
    await page.waitForFunction(() => document.querySelector('#app')?.children.length > 0)
    await page.waitForTimeout(600)
    await page.evaluate(axe)
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.waitForTimeout(50)
      const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ['violations'] }))
      for (const v of violations.filter((v) => ['serious', 'critical'].includes(v.impact))) {
        for (const n of v.nodes)
          find(
            `${v.id}: ${n.html.slice(0, 200)} ${n.any[0]?.message ?? ''}`,
            `${name} ${size} ${colorScheme}`,
          )
      }
      if (folder)
        await page.screenshot({ path: `${folder}/${name.replace(/\W+/g, '-')}-${size}-${colorScheme}.png` })
    }
  }
}
await browser.close()
await server.close()
for (const [what, where] of findings)
  console.log(
    `${what}\n    in ${where.slice(0, 4).join('; ')}${where.length > 4 ? ` and ${where.length - 4} more` : ''}`,
  )
console.log(`${names.length} states looked at, ${findings.size} findings`)
process.exit(findings.size > 0 ? 1 : 0)
