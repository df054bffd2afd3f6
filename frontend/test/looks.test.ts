// The looks that components share stand once, in looks.css.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const ui = join(import.meta.dirname, '../src/ui')
const named = (end: string) =>
  readdirSync(ui, { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith(end))
const components = named('.svelte').map((f) => ({ f, css: styles(readFileSync(join(ui, f), 'utf8')) }))
const sheets = named('.css').map((f) => ({ f, css: readFileSync(join(ui, f), 'utf8') }))
const shared = rules(sheets.find(({ f }) => f === 'looks.css')!.css)

/** The content of a component's <style>. */
function styles(source: string): string {
  return /<style>\n([^]*)<\/style>/.exec(source)?.[1] ?? ''
}

/** The rules of a sheet: selector and declarations. */
function rules(css: string): { selector: string; declares: string[] }[] {
  const plain = css.replace(/\/\*[^]*?\*\//g, '').replace(/@\w[^{]*\{(?:[^{}]*\{[^{}]*\})*\s*\}/g, '')
  return [...plain.matchAll(/([^{};]+)\{([^{}]*)\}/g)].map(([, selector, body]) => ({
    selector: selector!.trim(),
    declares: body!.split(';').flatMap((d) => (d.trim() === '' ? [] : [d.trim().replace(/\s+/g, ' ')])),
  }))
}

/** The looks by which a field, a notice and the others are known: all declarations of one of the lists. */
const known: Record<string, string[][]> = {
  field: [
    ['border: 1px solid var(--line-strong)', 'background: var(--bg)', 'padding: 0 var(--s2)'],
    ['border: 1px solid var(--line-strong)', 'background: var(--bg)', 'padding: 0 var(--s3)'],
    ['border: 1px solid var(--line-strong)', 'background: var(--bg)', 'padding: var(--s2)'],
    ['border: 1px solid var(--line-strong)', 'background: var(--bg)', 'padding: var(--s2) var(--s3)'],
  ],
  notice: ['attention', 'danger'].map((kind) => [
    `background: var(--${kind}-soft)`,
    `color: var(--${kind})`,
    'font-size: var(--size-small)',
  ]),
  floating: [['background: var(--surface)', 'box-shadow: var(--shadow)']],
  'muted, with small or tiny': ['small', 'tiny'].map((size) => [
    'color: var(--muted)',
    `font-size: var(--size-${size})`,
  ]),
}
for (const { selector, declares } of shared)
  if (/^\.[\w-]+$/.test(selector) && declares.length > 1) (known[selector.slice(1)] ??= []).push(declares)

/** What cannot be a class: another component's element, a pseudo-element, or what a state of its parent changes. */
const cannot = /:global|::|\.[\w-]+ /

function repeated(css: string): string[] {
  return rules(css)
    .filter(({ selector }) => !cannot.test(selector))
    .flatMap(({ selector, declares }) =>
      Object.entries(known).flatMap(([name, lists]) =>
        lists.some((list) => list.every((d) => declares.includes(d))) ? [`${selector}: use .${name}`] : [],
      ),
    )
}

it('a component that declares a shared look of its own is found', () => {
  expect(
    repeated(`
      input { padding: 0 var(--s3); border: 1px solid var(--line-strong); background: var(--bg); width: 3em; }
      .told { background: var(--danger-soft); color: var(--danger); font-size: var(--size-small); }
      b { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
      @media (pointer: coarse) { i { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; } }
      .open i { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
      small { color: var(--muted); font-weight: 400; font-size: var(--size-tiny); }
      p { padding: var(--s2); }`),
  ).toEqual([
    'input: use .field',
    '.told: use .notice',
    'b: use .clip',
    'small: use .muted, with small or tiny',
  ])
})

it('no component declares a shared look of its own', () => {
  const wrong = components.flatMap(({ f, css }) => repeated(css).map((what) => `${f}: ${what}`))
  expect(wrong).toEqual([])
})

it('every shared look is used', () => {
  const markup = named('.svelte')
    .map((f) => readFileSync(join(ui, f), 'utf8').split('<style>')[0]!)
    .join('\n')
  const names = new Set(shared.flatMap(({ selector }) => selector.match(/(?<=\.)[a-z][\w-]*/g) ?? []))
  expect(names.size).toBeGreaterThan(40)
  const classes = new Set(
    [...markup.matchAll(/class="([^"]*)"|class:([\w-]+)|class=\{[^}]*'([^']*)'/g)].flatMap(
      ([, several = '', one = '', other = '']) => `${several} ${one} ${other}`.split(/\s+/),
    ),
  )
  expect([...names].filter((name) => !classes.has(name))).toEqual([])
})

it('text has one of three weights', () => {
  const own = [...components, ...sheets].flatMap(({ f, css }) =>
    (css.match(/font-weight: [^;]+/g) ?? []).map((d) => `${f}: ${d}`),
  )
  expect(own.length).toBeGreaterThan(20)
  expect(own.filter((d) => !/: (var\(--(medium|bold)\)|400)$/.test(d))).toEqual([])
})

// It is what a person has to answer or to look at: what was found, what is paused and a comment have other colours.
const amber = {
  'the classes of it': ['looks.css'],
  'what waits for an answer': [
    'feed/Permission.svelte',
    'parts/Dot.svelte',
    'play/Play.svelte',
    'play/Timeline.svelte',
    'session/AskBody.svelte',
    'session/Interrupted.svelte',
    'session/PermissionSheet.svelte',
    'session/TurnBar.svelte',
  ],
  'what was not compared': ['feed/LargeDiff.svelte'],
  'yellow, as a terminal has it': ['feed/Output.svelte'],
}

it('amber has one meaning', () => {
  const uses = [...components, ...sheets].filter(
    ({ f, css }) => f !== 'theme.css' && css.includes('--attention'),
  )
  expect(uses.map(({ f }) => f).sort()).toEqual(Object.values(amber).flat().sort())
})

// Lower it when there are fewer. A new screen finds its looks in looks.css.
const most = 4270

it('the styles do not grow', () => {
  const lines = [...components, ...sheets].reduce((sum, { css }) => sum + css.split('\n').length - 1, 0)
  expect(lines).toBeLessThanOrEqual(most)
})
