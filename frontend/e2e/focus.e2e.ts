// When a pressed button disappears, the focus moves to a useful place and is never lost.
import { describe, expect, test } from 'vitest'
import { desktop } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import type { Screen } from './rig/screen.ts'
import { until } from './rig/until.ts'

/** The name of the focused element, and the prompt, rule or dialog section it is in. */
const focus = ({ page }: Screen) =>
  page.evaluate(() => {
    const at = document.activeElement
    if (!at || at === document.body) return 'nothing'
    const line = at.closest('li')?.querySelector('.text, .about')?.textContent?.trim()
    const part = at.closest('dialog section')?.getAttribute('aria-label')
    const name = at.getAttribute('aria-label') ?? at.textContent!.trim()
    return [name, line, part].filter(Boolean).join(' | ')
  })

async function focused(screen: Screen, want: string): Promise<void> {
  await until(`the focus on ${want}`, async () => (await focus(screen)) === want).catch(
    async (error: Error) => {
      throw new Error(`${error.message}; it is on ${await focus(screen)}`)
    },
  )
}

describe('the focus', () => {
  const at = paired()

  /** Opens a session whose agent waits for an answer, with these prompts in its unfolded queue. */
  async function queued(...prompts: string[]): Promise<Screen> {
    const screen = await at.device.watch(await at.hub.newSession('Busy'))
    await screen.prompt('/ask')
    await screen.permission.waitFor()
    for (const [i, text] of prompts.entries()) {
      await screen.prompt(text)
      await screen.page.getByText(`${i + 1} queued`).waitFor()
    }
    await screen.page.getByText(`${prompts.length} queued`).click()
    return screen
  }
  const item = ({ page }: Screen, text: string, name: string) =>
    page
      .getByRole('region', { name: 'Queue' })
      .getByRole('listitem')
      .filter({ hasText: text })
      .getByRole('button', { name })
  const order = async ({ page }: Screen, ...want: string[]) => {
    const texts = page.getByRole('region', { name: 'Queue' }).locator('li .text')
    await until(`the queue of ${want}`, async () => String(await texts.allInnerTexts()) === String(want))
  }
  const press = (screen: Screen, key = 'Enter') => screen.page.keyboard.press(key)

  /** Makes the screen a touch screen, where focusing a field opens a keyboard. */
  async function touched({ page }: Screen): Promise<void> {
    const cdp = await page.context().newCDPSession(page)
    await cdp.send('Emulation.setTouchEmulationEnabled', { enabled: true })
    expect(await page.evaluate(() => matchMedia('(pointer: coarse)').matches)).toBe(true)
  }

  test('follows a queued prompt that is moved, and goes to the button of the other direction at an end', async () => {
    const screen = await queued('one', 'two', 'three')
    await item(screen, 'three', 'Earlier').focus()
    await press(screen)
    await order(screen, 'one', 'three', 'two')
    await focused(screen, 'Earlier: three | three')
    await press(screen)
    await order(screen, 'three', 'one', 'two')
    await focused(screen, 'Later: three | three')
    await press(screen)
    await order(screen, 'one', 'three', 'two')
    await focused(screen, 'Later: three | three')
    await press(screen)
    await order(screen, 'one', 'two', 'three')
    await focused(screen, 'Earlier: three | three')
    await screen.page.close()
  })

  test('goes to the next prompt when one is removed, then to the queue, then to the field', async () => {
    const screen = await queued('one', 'two', 'three')
    await item(screen, 'one', 'Remove').focus()
    await press(screen)
    await order(screen, 'two', 'three')
    await focused(screen, 'Remove: two | two')
    await item(screen, 'three', 'Remove').focus()
    await press(screen)
    await order(screen, 'two')
    await focused(screen, '1 queued')
    await item(screen, 'two', 'Remove').focus()
    await press(screen)
    await focused(screen, 'Prompt')
    await screen.page.close()
  })

  test('does not go to the next prompt’s Remove button when another screen removed the prompt', async () => {
    const screen = await queued('one', 'two', 'three')
    const other = await at.device.open(new URL(screen.page.url()).pathname)
    await other.page.getByText('3 queued').click()
    await item(screen, 'one', 'Remove').focus()
    await item(other, 'one', 'Remove').click()
    await order(screen, 'two', 'three')
    await focused(screen, '2 queued')
    await screen.page.close()
    await other.page.close()
  })

  test.each([
    { by: 'keys', place: 'Prompt' },
    { by: 'touch', place: 'Session' },
  ])('goes on after all prompts are removed by $by', async ({ by, place }) => {
    const screen = await queued('one', 'two')
    if (by === 'touch') await touched(screen)
    await screen.page.getByRole('button', { name: 'Remove all 2…' }).focus()
    await press(screen)
    await focused(screen, 'Cancel')
    await press(screen)
    await focused(screen, 'Remove all 2…')
    await press(screen)
    await focused(screen, 'Cancel')
    await press(screen, 'Shift+Tab')
    await press(screen)
    await focused(screen, place)
    await screen.page.getByRole('region', { name: 'Queue' }).waitFor({ state: 'detached' })
    expect(await focus(screen)).toBe(place)
    await screen.page.close()
  })

  test('stays in the dialog of rules', async () => {
    const screen = await at.device.watch(await at.hub.newSession('Ruled'), desktop)
    await screen.page.getByRole('button', { name: 'More', exact: true }).click()
    await screen.page.getByRole('menuitem', { name: 'Rules…' }).click()
    const here = 'In this session'
    const part = screen.page.getByRole('dialog', { name: 'Rules' }).getByRole('region', { name: here })
    await part.getByRole('button', { name: 'Add rule' }).focus()
    await press(screen)
    await part.locator('[data-rule]').waitFor()
    await focused(screen, `Revoke: All reads | Allow All reads | ${here}`)
    await press(screen)
    await part.locator('[data-rule]').waitFor({ state: 'detached' })
    await focused(screen, `Add rule: ${here} | ${here}`)
    await screen.page.close()
  })

  test.each([
    { by: 'keys', place: 'Prompt' },
    { by: 'touch', place: 'Session' },
  ])('goes on after Stop, Dismiss and Unarchive by $by', async ({ by, place }) => {
    const session = await at.hub.newSession('Goes on')
    const screen = await at.device.watch(session, desktop)
    if (by === 'touch') await touched(screen)
    const button = (name: string) => screen.page.getByRole('button', { name, exact: true })
    await screen.prompt('/ask') // the turn waits for an answer until it is stopped
    await screen.permission.waitFor()
    await button('Stop').focus()
    await press(screen)
    await at.hub.event(session, 'turn_end')
    await button('Stop').waitFor({ state: 'detached' })
    await focused(screen, place)

    await screen.go(`/s/${session}?seq=9000`)
    await button('Dismiss').focus()
    await press(screen)
    await button('Dismiss').waitFor({ state: 'detached' })
    await focused(screen, place)

    await at.hub.api('PATCH', `/api/sessions/${session}`, { archived: true })
    await button('Unarchive').focus()
    await press(screen)
    await button('Unarchive').waitFor({ state: 'detached' })
    await focused(screen, place)
    await screen.page.close()
  })
})
