// Looks at every state of every screen under the hub's own policy. A state is shown at both sizes: light at one,
// where every rule is asked, and dark at the other, where the rules of colours are; the sizes change places from
// one state to the next. States follow each other in one page. With ABIDE_SOAK every rule is asked of every state
// at both sizes in both themes, each in a page of its own. ABIDE_SHOTS names a folder for pictures.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { states } from '../dev/catalogue/states.ts'
import { Catalogue, type View } from './rig/catalogue.ts'

const whole = process.env['ABIDE_SOAK'] !== undefined
const shots = process.env['ABIDE_SHOTS']
const only = process.env['ABIDE_STATES']
const wanted = states.filter((s) => new RegExp(only ?? '').test(s.name))

describe('every state of the catalogue is shown without error and free of barriers', () => {
  let catalogue: Catalogue

  beforeAll(async () => {
    if (shots) mkdirSync(shots, { recursive: true })
    catalogue = await Catalogue.start({ whole })
  })
  afterAll(() => catalogue.stop())

  const pairs = [
    ['phone-light', 'desktop-dark'],
    ['desktop-light', 'phone-dark'],
  ]
  const views = (i: number) =>
    catalogue.views.filter(({ name }) => whole || shots !== undefined || pairs[i % 2]!.includes(name))

  test.each(wanted.map(({ name }, i) => [name, i] as const))('%s', async (name, i) => {
    const looked = await Promise.allSettled(views(i).map((view) => look(view, name)))
    for (const each of looked) if (each.status === 'rejected') throw each.reason
  })

  test('the accent marks one thing: the action of the screen', async () => {
    const view = catalogue.views.find(({ name }) => name === 'desktop-light')!
    await view.show('list, unread')
    const colours = await view.page.evaluate(() => {
      const style = (selector: string) => getComputedStyle(document.querySelector(selector)!)
      const search = document.querySelector<HTMLElement>('[data-search]')!
      search.focus()
      return {
        action: style('.head button').backgroundColor,
        running: style('.dot.running').backgroundColor,
        unread: style('.new').backgroundColor,
        focus: getComputedStyle(search).outlineColor,
        link: style('[href="/settings"]:not(.settings)').color,
        filled: [...document.querySelectorAll('button.main')].map((b) => b.textContent.trim()),
        rows: new Set(
          [...document.querySelector('.head')!.children].map((e) => e.getBoundingClientRect().top >= 40),
        ).size,
        mark: document.querySelectorAll('.brand svg').length,
      }
    })
    const { filled, mark, rows, action, ...others } = colours
    expect({ filled, mark, rows }).toEqual({ filled: ['New session'], mark: 1, rows: 1 })
    expect(Object.values(others)).not.toContain(action)
    expect(new Set(Object.values(others)).size, JSON.stringify(others)).toBe(4)
  })

  async function look(view: View, state: string): Promise<void> {
    await view.show(state)
    expect(await view.barriers(), view.name).toEqual([])
    const lost = await view.page.getByText('This entry cannot be shown').count()
    expect(lost > 0, 'an entry is not shown').toBe(state.includes('cannot be shown'))
    if (state.includes('deceiving'))
      expect(await unseen(view), 'what cannot be seen is not named').toEqual([])
    if (state.startsWith('question')) expectOneToLead(await answers(view), state)
    expect(await switches(view), 'a switch is no longer one').toEqual([])
    if (shots)
      await view.page.screenshot({ path: join(shots, `${state.replace(/\W+/g, '-')}-${view.name}.png`) })
    // What throws is told of once, in its place and to the console, and takes nothing else along.
    const throws = state.includes('it thr')
    const failed = await view.page.getByRole('button', { name: 'Try again' }).count()
    if (throws) expect(failed, 'a part that failed').toBe(state.endsWith('throws') ? 1 : 0)
    expect(view.errors.length, `${view.name}: ${String(view.errors)}`).toBe(throws ? 1 : 0)
  }
})

/** One answer is filled, unless the only one rejects; those that reject are text, and none is hard to hit. */
function expectOneToLead(looks: string[], state: string): void {
  if (looks.length > 1) expect(looks.filter((look) => look === 'filled')).toHaveLength(1)
  if (state === 'question, four answers') expect(looks).toEqual(['filled', 'outlined', 'text', 'text'])
}

/** How the answers of a question look, in their order. */
function answers(view: View): Promise<string[]> {
  return view.page.evaluate(() => {
    const clear = 'rgba(0, 0, 0, 0)'
    const surface = (e: Element) => getComputedStyle(e.closest('.sheet')!).backgroundColor
    return [...document.querySelectorAll('[data-option]')].map((e) => {
      if (e.getBoundingClientRect().height < 44) return 'small'
      const { backgroundColor, borderTopColor } = getComputedStyle(e)
      if (borderTopColor !== clear) return 'outlined'
      return [clear, surface(e)].includes(backgroundColor) ? 'text' : 'filled'
    })
  })
}

/** The switches that are not as the theme has them. */
function switches(view: View): Promise<string[]> {
  return view.page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('[role=switch]')]
      .filter((e) => e.offsetWidth !== 36 || e.offsetHeight !== 22)
      .map((e) => `${e.offsetWidth} × ${e.offsetHeight}: ${e.closest('label')?.textContent.trim()}`),
  )
}

/** Texts and labels with characters that cannot be seen, or that turn text round, but for prose and fields. */
function unseen(view: View): Promise<string[]> {
  return view.page.evaluate(() => {
    const deceiving = /[\u200b\u202a-\u202e\u2066-\u2069]/
    const all = [
      ...document.body.querySelectorAll<HTMLElement>('*:not(script, style, textarea, .prose, .prose *)'),
    ]
    const texts = all.flatMap((e) => [
      e.title,
      e.ariaLabel ?? '',
      ...[...e.childNodes].flatMap((n) => (n.nodeType === Node.TEXT_NODE ? [n.nodeValue!] : [])),
    ])
    return texts.filter((text) => deceiving.test(text))
  })
}
