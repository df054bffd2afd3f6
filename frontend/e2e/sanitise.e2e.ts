// The output of the sanitiser for Markdown and HTML, with the HTML parser of a real browser.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Browser } from './rig/browser.ts'
import { renderingPage, show } from './rig/rendering.ts'

let browser: Browser
let page: Page
beforeAll(async () => {
  browser = await Browser.start()
  page = await renderingPage(browser)
})
afterAll(() => browser.stop())

test('a link whose text names another address shows its real address; no other link does', async () => {
  await show(page, '[https://bank.com](https://evil.example) and [docs](https://docs.example)')
  expect(await page.locator('main').innerText()).toBe('https://bank.com (evil.example) and docs')
})

test.each([
  ['of a script', '[link](javascript:alert(1))'],
  ['of data', '[link](data:text/html,x)'],
  ['of a file', '[link](file:///etc/passwd)'],
  ['beside the document', '[link](docs/x.md)'],
  ['on the device', '[link](/etc/passwd)'],
  ['in the document', '[link](#x)'],
  ['of the same scheme as the page', '[link](http:docs/x.md)'],
  ['of another host by the same scheme', '[link](//evil.invalid/x)'],
  ['that is none', '[link](https://)'],
  ['of a port that is none', '[link](http://a.example:port/)'],
  ['by a reference', '[link]\n\n[link]: docs/x.md'],
  ['of a picture', '![link](docs/x.png)'],
  ['of a picture of a script', '![link](javascript:alert(1))'],
])('an address %s leads nowhere: its words stay, and no link', async (_, markdown) => {
  await show(page, markdown)
  expect(await page.locator('main').innerText()).toBe('link')
  expect(await page.locator('main a').count()).toBe(0)
})

test('markup in a link without a usable address is kept as text, and the link beside it works', async () => {
  await show(page, 'See [the `code` of **x**](src/x.ts), [here](https://docs.example/) and ![](a.png).')
  const html = await page.evaluate(() => document.querySelector('main p')!.innerHTML)
  expect(html).toMatch(/^See the <code>code<\/code> of <strong>x<\/strong>, <a [^>]+>here<\/a> and a\.png\.$/)
})

test('a picture is a link, and is not requested', async () => {
  const asked: string[] = []
  const note = (request: { url(): string }) => asked.push(request.url())
  page.on('request', note)
  await show(
    page,
    '![cat](https://evil.invalid/cat.png) ![dog](dog.png) ![](/x.png) ![d](data:image/png;base64,AA==)',
  )
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 100)))
  page.off('request', note)
  expect(asked).toEqual([])
  expect(await page.locator('main :is(img, picture, video, source, object)').count()).toBe(0)
  expect(await page.locator('main a').evaluateAll((all) => all.map((a) => a.textContent))).toEqual(['cat'])
})

// The parser outputs no HTML from a message. The sanitiser is the second line of defence.
describe('of HTML that reaches the sanitiser', () => {
  const corpus = JSON.parse(
    readFileSync(join(import.meta.dirname, 'rig/hostile/corpus.json'), 'utf8'),
  ) as string[]
  const more = [
    '<p>first</p><script>ran.push(1)</script>',
    '<img src=x onerror="ran.push(2)"><svg onload="ran.push(3)"></svg>',
    '<a href="javascript:ran.push(4)">a</a><a href="data:text/html,x">b</a><a href="/api/pair">c</a>',
    '<form action="https://evil.invalid"><input name="q" type="text" value="x" onfocus="ran.push(5)" autofocus></form>',
    '<math><mtext><table><mglyph><style><!--</style><img title="--><img src=1 onerror=ran.push(6)>">',
    '<p id="app" name="app" data-outbox="x" aria-label="Allow" style="position:fixed" class="sheet hljs">over</p>',
    '<iframe srcdoc="<script>parent.ran.push(7)</script>"></iframe><object data="https://evil.invalid"></object>',
    '<ul onclick="ran.push(8)"><li><a href="https://evil.invalid" ping="https://evil.invalid" style="top:0">a</a></li></ul>',
    '<table background="https://evil.invalid"><tr><td style="background:url(https://evil.invalid)">cell</td></tr></table>',
    '<ol start="2" data-x="1"><li><input type="image" src="https://evil.invalid"></li></ol>',
  ]
  const tags =
    'A BLOCKQUOTE BR CODE DEL DIV EM H1 H2 H3 H4 H5 H6 HR INPUT LI OL P PRE SPAN STRONG TABLE TBODY TD TH THEAD TR UL'
  const attributes = 'align aria-label checked class disabled href rel role start tabindex target title type'

  test('only the elements, attributes and addresses of markdown are left, and nothing runs', async () => {
    const asked: string[] = []
    const note = (request: { url(): string }) => asked.push(request.url())
    page.on('request', note)
    const { left, foreign, ran } = await page.evaluate(
      async ({ htmls, tags, attributes }) => {
        const ran: number[] = []
        Object.assign(window, { ran })
        const main = document.querySelector('main')!
        const foreign: string[] = []
        let left = 0
        for (const html of htmls) {
          main.replaceChildren(rendering.sanitise(html))
          for (const element of main.querySelectorAll('*')) {
            left++
            if (!tags.includes(element.nodeName)) foreign.push(`${element.nodeName} of ${html}`)
            if (element.nodeName === 'INPUT' && element.getAttribute('type') !== 'checkbox')
              foreign.push(html)
            for (const { name, value } of element.attributes) {
              const known =
                attributes.includes(name) && (name !== 'href' || /^(https?:|mailto:)/i.test(value))
              if (!known) foreign.push(`${name}=${value} of ${html}`)
              if (name === 'class' && !/^(host|table|language-.*|hljs.*)$/.test(value))
                foreign.push(`class of ${html}`)
            }
          }
        }
        // Waits for scripts that would run after a failed load, such as onerror.
        await new Promise((resolve) => setTimeout(resolve, 100))
        return { left, foreign, ran }
      },
      { htmls: [...corpus, ...more], tags: tags.split(' '), attributes: attributes.split(' ') },
    )
    page.off('request', note)
    expect(foreign).toEqual([])
    expect(ran).toEqual([])
    expect(asked).toEqual([])
    expect(left, 'and something was there to judge').toBeGreaterThan(10)
  })

  test('the elements of markdown stay, also the first one', async () => {
    const html = '<h2>one</h2><p>two <strong>three</strong></p><ul><li>four</li></ul>'
    expect(
      await page.evaluate((given) => {
        const box = document.createElement('div')
        box.append(rendering.sanitise(given))
        return box.innerHTML
      }, html),
    ).toBe(html)
  })
})
