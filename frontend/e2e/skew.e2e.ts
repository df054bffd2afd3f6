// A page and a hub of different versions. The hub is the mock hub, whose version a test can set.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { preview, type Preview } from '../dev/preview.mjs'
import { Browser, phone } from './rig/browser.ts'
import { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

const session = '20260221-140307-9f3a11c0'
const draft = 'Half a thought'

describe('a tab that meets a hub of another version', () => {
  let site: Preview
  let browser: Browser
  let screen: Screen

  beforeAll(async () => {
    browser = await Browser.start(phone)
  })
  afterAll(() => browser.stop())
  beforeEach(async () => {
    site = await preview({ pace: 0 })
    screen = await Screen.open(await browser.window(phone), `${site.url}/s/${session}`)
    await screen.reaches(session, 1)
    await screen.composer.fill(draft)
  })
  afterEach(async () => {
    await screen.page.close()
    await site.stop()
  })

  /** Replaces the hub by one of another version at the same address. */
  async function replace(version: string, protocol = 1): Promise<void> {
    const port = Number(new URL(site.url).port)
    await site.stop()
    site = await preview({ port, pace: 0 })
    Object.assign(site.hub, { version, protocol })
  }
  const strip = (words: string) => screen.page.locator('.strip', { hasText: words })

  test.each(['newer', 'older'])(
    'works with one that is %s, shows a notice, and keeps the draft over a reload',
    async (version) => {
      await replace(version)
      await strip('this page is older').waitFor()
      await screen.prompt('Sent to the other hub')
      await screen.feed.getByText('Sent to the other hub').waitFor()
      await screen.composer.fill(draft)
      await strip('this page is older').getByRole('button', { name: 'Reload' }).click()
      await strip('this page is older').waitFor({ state: 'detached' })
      await screen.reaches(session, 1)
      await expect.poll(() => screen.composer.inputValue()).toBe(draft)
    },
  )

  test('does not connect to one of another protocol; its prompt is kept, and sent after a reload of the page', async () => {
    await replace('newer', 2)
    await strip('hub has been updated').waitFor()
    await screen.prompt('Written in between')
    await screen.page.locator('[data-outbox]').getByText('Written in between').waitFor()
    await screen.composer.fill(draft)
    Object.assign(site.hub, { protocol: 1 }) // stands for a page of the newer hub, which speaks its protocol
    await strip('hub has been updated').getByRole('button', { name: 'Reload' }).click()
    await until('the prompt at the hub', () => prompts().length === 1)
    await screen.feed.getByText('Written in between').waitFor()
    await expect.poll(() => screen.composer.inputValue()).toBe(draft)
    expect(prompts()).toEqual(['Written in between'])
  })

  const prompts = () =>
    site.hub.sessions
      .get(session)!
      .events.flatMap((e) => (e.type === 'user_prompt' ? [e.data.text] : []))
      .slice(1) // the mock hub's own prompt
})
