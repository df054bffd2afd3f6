import { join } from 'node:path'
import { expect, test } from 'vitest'
import { paired } from './rig/paired.ts'
import { until } from './rig/until.ts'

const at = paired()

/** Runs in the page: records the screen reader announcements in order. */
function listen(): void {
  const said: string[] = []
  const last = new WeakMap<Element, string>()
  Object.assign(window, { said })
  const look = () => {
    const over = document.querySelector('dialog:modal')
    for (const region of document.querySelectorAll('[aria-live], [role=alert]')) {
      const text = (region.textContent ?? '').replace(/\s+/g, ' ').trim()
      if (last.get(region) === text) continue
      last.set(region, text)
      if (over && !over.contains(region)) continue // a screen reader ignores regions behind a modal dialog
      const how = region.getAttribute('aria-live') ?? 'assertive'
      if (text !== '') said.push(`${how}: ${text}`)
    }
  }
  new MutationObserver(look).observe(document, { childList: true, subtree: true, characterData: true })
}

test('a screen reader announces whole turns, and interrupts only for a question and a lost connection', async () => {
  const session = await at.hub.newSession('Told', 'paced')
  await at.hub.turn(session, '/slow 1')
  const screen = await at.device.open('/')
  await screen.page.evaluate(listen)
  await screen.go(`/s/${session}`)
  await screen.reaches(session, at.hub.lastSeq(session))
  const said = () => screen.page.evaluate(() => (window as unknown as { said: string[] }).said)
  const spoken = (words: string) => until(words, async () => (await said()).at(-1)?.includes(words))

  await screen.prompt('/slow 5')
  await spoken('Turn ended')
  await screen.prompt('/ask')
  await spoken('Needs your answer')
  await screen.answer('Allow once')
  await spoken('Turn ended')
  await at.hub.kill()
  await spoken('No connection')
  await at.hub.start()
  await screen.reaches(session, at.hub.lastSeq(session))
  await screen.prompt('/slow 1')
  await spoken('Turn ended')
  // With a dialog open, events behind it are announced all the same, and once.
  await screen.page.keyboard.press('Escape')
  await screen.page.keyboard.press('?')
  await screen.page.getByRole('dialog', { name: 'Keys' }).waitFor()
  await at.hub.prompt(session, '/ask')
  await spoken('Needs your answer')
  await at.hub.kill()
  await spoken('No connection')
  await at.hub.start()
  await screen.page.keyboard.press('Escape')
  await screen.reaches(session, at.hub.lastSeq(session))
  await screen.page.getByRole('button', { name: 'More', exact: true }).click()
  await screen.page.getByRole('menuitem', { name: 'All commands…' }).click()
  await screen.page.getByRole('option', { name: 'Agent…' }).click()
  await screen.page.getByRole('dialog', { name: 'Agent' }).waitFor()
  await at.hub.turn(session, '/slow 2')
  await spoken('19 20')
  // "Catching up" appears after 400 ms, so only on slow machines.
  const told = (await said()).filter((line) => line !== 'polite: Catching up')
  await expect(told.join('\n') + '\n').toMatchFileSnapshot(join(import.meta.dirname, 'rig/announced.txt'))
})
