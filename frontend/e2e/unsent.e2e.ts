// The text a person wrote is either sent or can be edited further. It is never lost.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

describe('the text a person wrote', () => {
  let hub: Hub
  let laptop: Device

  beforeAll(async () => {
    hub = await Hub.start({ race: true })
    laptop = await Device.pair(hub)
  })
  afterAll(async () => {
    await laptop.stop()
    expect(await hub.stop()).toBe(0)
  })

  const huge = `${'€'.repeat(350_000)} the end` // over 1 MiB in UTF-8

  const asked = (session: string) =>
    hub.events(session).flatMap((e) => (e.type === 'user_prompt' ? [e.data.text] : []))

  test('that is too long stays in the composer, with advice, until it is shorter', async () => {
    const session = await hub.newSession('Long')
    const screen = await laptop.watch(session)
    await screen.composer.fill(huge)
    await screen.page.getByRole('alert').getByText('the hub takes at most 1,024 KB at once').waitFor()
    await screen.composer.press('Control+Enter')
    expect((await screen.composer.inputValue()).length).toBe(huge.length)
    expect(await screen.page.locator('[data-outbox]').count()).toBe(0)
    await screen.prompt('/slow 1')
    await hub.event(session, 'turn_end')
    expect(asked(session)).toEqual(['/slow 1'])
    await screen.page.close()
  })

  test('that was too long when it was sent fails, can be edited, and does not hold up other prompts', async () => {
    const session = await hub.newSession('Left')
    const other = await hub.newSession('Other')
    const before = await laptop.watch(session)
    // The outbox as left by a page that did not know the hub's limit.
    await before.page.evaluate(
      ([session, other, huge]) => {
        const left = (id: string, sessionId: string, text: string, createdAt: number) =>
          localStorage.setItem(
            `abide.outbox.${id}`,
            JSON.stringify({
              item: { id, sessionId, kind: 'prompt', text, createdAt, status: 'queued' },
              owner: 'gone',
            }),
          )
        left('wedge', session!, huge!, Date.now() - 2)
        left('behind', session!, '/slow 1', Date.now() - 1)
        left('elsewhere', other!, '/slow 2', Date.now())
      },
      [session, other, huge],
    )
    await before.page.close()

    const screen = await laptop.watch(session)
    await hub.event(session, 'turn_end')
    await hub.event(other, 'turn_end')
    expect([asked(session), asked(other)]).toEqual([['/slow 1'], ['/slow 2']])
    const failed = screen.page.locator('[data-outbox][data-status=failed]')
    await failed.getByText('Shorten it, or put it into a file').waitFor()
    const dials = screen.requests.filter((url) => url.startsWith('ws:'))
    expect(dials.length, 'sockets that were dialled').toBeLessThan(4)
    await screen.page.reload()
    await failed.getByRole('button', { name: 'Edit' }).click()
    expect((await screen.composer.inputValue()).endsWith('€ the end')).toBe(true)
    await failed.waitFor({ state: 'detached' })
    await screen.prompt('short enough')
    await until('the edited prompt', () => asked(session).includes('short enough'))
    await screen.page.close()
  })

  test('has its status in every tab of the browser, and survives its tab', async () => {
    const session = await hub.newSession('Tabs')
    const one = await laptop.watch(session)
    const two = await laptop.watch(session)
    const seen = (screen: Screen, status: string) =>
      screen.page.locator(`[data-outbox][data-status=${status}]`)
    await hub.kill()
    await two.page.locator('html:not([data-link=open])').waitFor()
    await one.prompt('/slow 1')
    await seen(two, 'queued').getByText('/slow 1').waitFor()
    await hub.start()
    await hub.event(session, 'turn_end')
    for (const screen of [one, two]) await seen(screen, 'queued').waitFor({ state: 'detached' })

    await hub.kill()
    await one.page.locator('html:not([data-link=open])').waitFor()
    await one.prompt('/slow 2')
    await seen(two, 'queued').getByText('/slow 2').waitFor()
    await one.page.close()
    await hub.start()
    await until('the prompt of the closed tab', () => asked(session).length === 2)
    expect(asked(session)).toEqual(['/slow 1', '/slow 2'])
    await expect.poll(() => seen(two, 'queued').count()).toBe(0)
    await two.page.close()
  })

  test('that failed is shown by a tab that is opened later, which can edit it', async () => {
    const session = await hub.newSession('Later')
    const one = await laptop.watch(session)
    await one.page.evaluate(
      ([sessionId, text]) =>
        localStorage.setItem(
          'abide.outbox.failing',
          JSON.stringify({
            item: { id: 'failing', sessionId, kind: 'prompt', text, createdAt: Date.now(), status: 'queued' },
            owner: 'gone',
          }),
        ),
      [session, huge],
    )
    await one.page.reload()
    const failed = (screen: Screen) => screen.page.locator('[data-outbox][data-status=failed]')
    await failed(one).waitFor()
    const two = await laptop.watch(session)
    await failed(two).getByRole('button', { name: 'Edit' }).click()
    expect((await two.composer.inputValue()).endsWith('€ the end')).toBe(true)
    for (const screen of [one, two]) await failed(screen).waitFor({ state: 'detached' })
    await expect.poll(() => one.page.evaluate(() => localStorage.getItem('abide.outbox.failing'))).toBe(null)
    await one.page.close()
    await two.page.close()
  })

  test('waits for a connection, as an answer does, which the question shows', async () => {
    const session = await hub.newSession('Away')
    const screen = await laptop.watch(session)
    await screen.prompt('/ask')
    await screen.permission.waitFor()
    await hub.kill()
    await screen.page.locator('html:not([data-link=open])').waitFor()
    await screen.answer('Allow once')
    await screen.permission.getByText('Your answer will be sent when connected.').waitFor()
    await hub.start()
    await screen.feed.getByText('unanswered (hub restarted)').waitFor()
    await screen.page.close()
  })

  describe('in the queue', () => {
    let session: string
    let screen: Screen
    const queue = () => screen.page.getByRole('region', { name: 'Queue' })
    const field = () => screen.page.getByLabel('Queued prompt')
    const focused = () =>
      screen.page.evaluate(() => {
        const { activeElement } = document
        return activeElement?.getAttribute('aria-label') ?? activeElement?.tagName
      })

    async function begin(text: string): Promise<void> {
      session = await hub.newSession('Queue')
      screen = await laptop.watch(session)
      await screen.prompt('/ask')
      await screen.permission.waitFor()
      await screen.prompt(text)
      await queue().getByText('1 queued').click()
      await queue().getByRole('button', { name: 'Edit' }).click()
    }

    test('can be edited by keys only, and the focus returns to where the edit began', async () => {
      await begin('first words')
      await expect.poll(() => focused()).toBe('Queued prompt')
      await screen.page.keyboard.press('Control+A')
      await screen.page.keyboard.type('other words')
      await screen.page.keyboard.press('Control+Enter')
      await queue().locator('li', { hasText: 'other words' }).waitFor()
      await expect.poll(focused).toMatch(/^Edit: /)
      await screen.page.keyboard.press('Enter')
      await field().fill('never mind')
      await screen.page.keyboard.press('Escape')
      await queue().locator('li', { hasText: 'other words' }).waitFor()
      await expect.poll(focused).toMatch(/^Edit: /)
      await screen.page.close()
    })

    test('continues in the composer if the prompt was sent to the agent before the edit was saved', async () => {
      await begin('/slow 2')
      await field().fill('what I mean')
      await screen.answer('Reject')
      await screen.page.getByText('Already sent unedited').waitFor()
      expect(await screen.composer.inputValue()).toBe('what I mean')
      await screen.page.reload()
      await expect.poll(() => screen.composer.inputValue()).toBe('what I mean')
      expect(asked(session)).toEqual(['/ask', '/slow 2'])
      await screen.page.close()
    })

    test('can be edited further after a reload, in the queue or in the composer', async () => {
      await begin('/slow 3')
      await field().fill('half of a')
      await screen.page.reload()
      await expect.poll(() => field().inputValue()).toBe('half of a')
      await screen.page.goto('about:blank')
      const other = await laptop.watch(session)
      await other.answer('Reject')
      await hub.idle(session)
      await other.page.close()
      await screen.page.goBack()
      await expect.poll(() => screen.composer.inputValue()).toBe('half of a')
      await screen.page.close()
    })
  })
})
