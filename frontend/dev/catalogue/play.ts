// Plays the steps of a state in the page.
import type { Step } from './state'

/** How long a step waits for its element before it fails. */
const patienceMs = 10_000

/** Does the steps in order; fails if the element of a step does not appear. */
export async function play(steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    if ('press' in step) (await element<HTMLElement>(step.press)).click()
    else if ('focus' in step) (await element<HTMLElement>(step.focus)).focus()
    else if ('write' in step) fill(await element<HTMLInputElement>(step.write), step.words, 'input')
    else if ('choose' in step) fill(await element<HTMLSelectElement>(step.choose), step.value, 'change')
    else if ('pick' in step) {
      const data = new DataTransfer()
      for (const file of step.pick()) data.items.add(file)
      const picker = await element<HTMLInputElement>('[data-picker]')
      picker.files = data.files
      picker.dispatchEvent(new Event('change', { bubbles: true }))
    } else await new Promise((done) => setTimeout(done, step.wait))
    await painted()
  }
}

async function element<T extends Element>(selector: string): Promise<T> {
  const deadline = Date.now() + patienceMs
  for (;;) {
    const found = document.querySelector<T>(selector)
    if (found) return found
    if (Date.now() > deadline) throw new Error(`no element ${selector} appeared`)
    await painted()
  }
}

function fill(field: { value: string } & Element, value: string, event: string): void {
  field.value = value
  field.dispatchEvent(new Event(event, { bubbles: true }))
}

/** Waits for two frames, as the first may already be in progress. */
export function painted(): Promise<void> {
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))
}
