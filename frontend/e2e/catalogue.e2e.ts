// Checks every state of every screen under the hub's content security policy. A state is shown dark, with its words in a
// pseudo-language, in which a word in plain letters is missing in src/words.json. Every third state is also shown light.
// It has every axe rule there, and those about colours in the dark. The sizes swap from one state to the next. The states
// are shown one after the other in one page. With ABIDE_SOAK every rule runs on every state at both sizes in both themes,
// and the page is loaded for each. ABIDE_SHOTS names a folder for screenshots, which have the app's own words.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { states } from '../dev/catalogue/states.ts'
import { pseudo } from '../dev/words.mjs'
import { deepBoxes } from './rig/boxes.ts'
import { Catalogue, type View } from './rig/catalogue.ts'
import { motion } from './rig/motion.ts'
import { smallTargets } from './rig/targets.ts'
import { knownWords, strangeWords } from './rig/words.ts'

const whole = process.env['ABIDE_SOAK'] !== undefined
const shots = process.env['ABIDE_SHOTS']
const only = process.env['ABIDE_STATES']
const wanted = states.filter((s) => new RegExp(only ?? '').test(s.name))

describe('every state of the catalogue is shown without errors and accessibility violations', () => {
  let catalogue: Catalogue
  let known: Set<string>

  beforeAll(async () => {
    if (shots) mkdirSync(shots, { recursive: true })
    catalogue = await Catalogue.start({ whole, plain: shots !== undefined })
    known = await knownWords()
  })
  afterAll(() => catalogue.stop())

  const pairs = [
    ['phone-light', 'desktop-dark'],
    ['desktop-light', 'phone-dark'],
  ]
  const views = (i: number) =>
    catalogue.views.filter(
      ({ name }) =>
        whole ||
        shots !== undefined ||
        (pairs[i % 2]!.includes(name) && (i % 3 === 0 || name.endsWith('dark'))),
    )

  test.each(wanted.map(({ name }, i) => [name, i] as const))('%s', async (name, i) => {
    const looked = await Promise.allSettled(views(i).map((view) => look(view, name, i)))
    for (const each of looked) if (each.status === 'rejected') throw each.reason
  })

  test('the words that are data of a state are known', () => {
    expect(known.size).toBeGreaterThan(500)
  })

  test('only the main action of a screen has the accent colour', async () => {
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

  test('it moves where the system allows it', async () => {
    const view = catalogue.views.find(({ name }) => name === 'desktop-light')!
    await view.show('list, unread')
    await view.page.emulateMedia({ reducedMotion: 'no-preference' })
    expect(await motion(view.page)).toContainEqual(expect.stringMatching(/^runs to .*dot running/))
    await view.page.emulateMedia({ reducedMotion: 'reduce' })
    expect(await motion(view.page)).toEqual([])
  })

  test('with the system’s own colours the chosen, the focus and the states are seen', async () => {
    const view = catalogue.views.find(({ name }) => name === 'desktop-light')!
    const { page } = view
    await page.emulateMedia({ forcedColors: 'active' })
    for (const [state, least] of Object.entries(chosenOf)) {
      await view.show(state)
      const { chosen, hidden } = await unmarked(view)
      expect(chosen, `${state}: what is chosen`).toBeGreaterThanOrEqual(least)
      expect(hidden, state).toEqual([])
      await page.keyboard.press('Tab')
      for (let n = 0; n < 8; n++) {
        expect(await focusShown(view), state).toBe('')
        await page.keyboard.press('Tab')
      }
    }
    await view.show('list, unread')
    expect(await sameAsGround(view)).toEqual([])
    await page.emulateMedia({ forcedColors: 'none' })
  })

  test('where more contrast is asked for, text has 7:1', async () => {
    for (const view of catalogue.views.filter(({ name }) => name.startsWith('desktop'))) {
      await view.page.emulateMedia({ contrast: 'more' })
      for (const state of [
        'list, unread',
        'session, every kind of event',
        'review, changes',
        'settings',
        'files',
      ]) {
        await view.show(state)
        expect(await view.barriers(['color-contrast-enhanced']), `${state}, ${view.name}`).toEqual([])
      }
      await view.page.emulateMedia({ contrast: 'no-preference' })
    }
  })

  test('a part of a file has the numbers of its lines, or none', async () => {
    const view = catalogue.views.find(({ name }) => name === 'desktop-light')!
    const numbers = view.page.locator('[data-permission] figure .n')
    await view.show('question, part of a file')
    await numbers.first().waitFor()
    await expect.poll(() => numbers.allInnerTexts()).toEqual(['', '41', '42']) // a removed line is in the file no more
    await view.show('question, part of a file, unknown line')
    await view.page.locator('[data-permission] figure .add').waitFor()
    expect((await numbers.allInnerTexts()).join('')).toBe('')
  })

  test('a copy button of a phone is in the corner of its code, and takes no row', async () => {
    const view = catalogue.views.find(({ name }) => name === 'phone-light')!
    await view.show('session, options')
    const found = await view.page.evaluate(() => {
      const box = (e: Element) => e.getBoundingClientRect()
      const inside = (a: DOMRect, b: DOMRect) =>
        a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom + 1
      const codes = [...document.querySelectorAll<HTMLElement>('.copycode')]
      const outputs = [...document.querySelectorAll<HTMLElement>('pre .copying')]
      return {
        some: [codes.length > 0, outputs.length > 0],
        outside: [
          ...codes.filter((b) => !inside(box(b), box(b.nextElementSibling!))),
          ...outputs.filter((b) => !inside(box(b.firstElementChild!), box(b.closest('pre')!))),
        ].length,
      }
    })
    expect(found).toEqual({ some: [true, true], outside: 0 })
  })

  async function look(view: View, state: string, i: number): Promise<void> {
    await view.show(state)
    if (whole || i % 3 === 0) expect(await view.barriers(), view.name).toEqual([])
    const other = view.name.endsWith('dark') && shots === undefined
    const words = (text: string) => (other ? pseudo(text).slice(1, -1) : text)
    if (other) expect(await strangeWords(view, known), 'words that are not in src/words.json').toEqual({})
    const lost = await view.page.getByText(words('This entry cannot be shown')).count()
    expect(lost > 0, 'an entry is not shown').toBe(state.includes('cannot be shown'))
    if (state.includes('deceiving'))
      expect(await unseen(view), 'what cannot be seen is not named').toEqual([])
    if (state.startsWith('question')) expectOneToLead(await answers(view), state, view.name)
    expect(await switches(view), 'a switch is no longer one').toEqual([])
    expect(await deepBoxes(view.page), 'at most two boxes stand in each other').toEqual([])
    expect(await motion(view.page), 'it moves, where the system asks for stillness').toEqual([])
    if (shots)
      await view.page.screenshot({ path: join(shots, `${state.replace(/\W+/g, '-')}-${view.name}.png`) })
    // A part that throws is reported once, in its place and on the console, and the rest keeps working.
    const throws = state.includes('it thr')
    const failed = await view.page.getByRole('button', { name: words('Try again') }).count()
    if (throws) expect(failed, 'a part that failed').toBe(state.endsWith('throws') ? 1 : 0)
    expect(view.errors.length, `${view.name}: ${String(view.errors)}`).toBe(throws ? 1 : 0)
    // The last: it scrolls.
    if (view.name.startsWith('phone'))
      await expect.poll(() => smallTargets(view.page), { message: 'smaller than a finger' }).toEqual([])
  }
})

/** Fails unless exactly one of several options is filled. */
function expectOneToLead(looks: string[], state: string, view: string): void {
  if (looks.length > 1) expect(looks.filter((look) => look === 'filled')).toHaveLength(1)
  const folded = view.startsWith('phone')
  if (state === 'question, four answers')
    expect(looks).toEqual(folded ? ['filled', 'text'] : ['filled', 'outlined', 'text', 'text'])
}

/** The look of the options of a question, in order. */
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

/** The switches whose size is not that of the theme. */
function switches(view: View): Promise<string[]> {
  return view.page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('[role=switch]')]
      .filter((e) => e.offsetWidth !== 36 || e.offsetHeight !== 22)
      .map((e) => `${e.offsetWidth} × ${e.offsetHeight}: ${e.closest('label')?.textContent.trim()}`),
  )
}

/** Texts and labels, outside prose and fields, with invisible or reordering characters. */
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

/** States with something that is chosen, and how much of it at the least. */
const chosenOf = { settings: 2, files: 1, palette: 1, 'review, changes': 1 }

/** The chosen of several: how many there are, and those that no outline marks. */
function unmarked(view: View): Promise<{ chosen: number; hidden: string[] }> {
  return view.page.evaluate(() => {
    const marks = ['[aria-current]', '[aria-pressed=true]', '[aria-selected=true]', '.chosen']
    const chosen = [...document.querySelectorAll(marks.join())].filter(
      (e) => e.checkVisibility() && !e.matches(':focus-visible'),
    )
    const hidden = chosen.filter((e) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(e)
      return outlineStyle === 'none' || parseFloat(outlineWidth) < 2
    })
    return { chosen: chosen.length, hidden: hidden.map((e) => e.outerHTML.slice(0, 120)) }
  })
}

/** The element with the focus if it, and what holds it, has no outline; else nothing. */
function focusShown(view: View): Promise<string> {
  return view.page.evaluate(() => {
    const focused = document.activeElement!
    if (focused === document.body) return ''
    const outlined = [focused, focused.closest('label')].some((e) => {
      if (!e) return false
      const { outlineStyle, outlineWidth, opacity } = getComputedStyle(e)
      return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 && opacity !== '0'
    })
    return outlined ? '' : focused.outerHTML.slice(0, 160)
  })
}

/** The dots of states and of what is unread that are of the colour of what is behind them. */
function sameAsGround(view: View): Promise<string[]> {
  return view.page.evaluate(() => {
    const ground = getComputedStyle(document.documentElement).backgroundColor
    return [...document.querySelectorAll('.dot, .new')].flatMap((e) => {
      const { backgroundColor, borderTopColor, borderTopWidth } = getComputedStyle(e)
      const seen = [backgroundColor, ...(borderTopWidth === '0px' ? [] : [borderTopColor])]
      return seen.some((colour) => colour !== ground && colour !== 'rgba(0, 0, 0, 0)') ? [] : [e.outerHTML]
    })
  })
}
