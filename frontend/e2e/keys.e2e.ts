// Every key in the help does what the help says. The cases come from the help's own table: a key without a test fails.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bindings, type Action } from '../src/ui/keys.ts'
import { desktop } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import type { Screen } from './rig/screen.ts'
import { agents, call, say, turn, type Told } from './rig/told.ts'
import { until } from './rig/until.ts'

const long = (what: string) => say(Array.from({ length: 30 }, (_, i) => `${what}, line ${i}.\n\n`).join(''))
const options = [
  { optionId: 'once', name: 'Allow once', kind: 'allow_once' },
  { optionId: 'always', name: 'Allow always', kind: 'allow_always' },
  { optionId: 'no', name: 'Reject', kind: 'reject_once' },
]
const ask = (id: string): Told => ({
  ask: { toolCall: { toolCallId: id, title: 'ls', kind: 'execute', rawInput: { command: 'ls' } }, options },
})
const diff = { content: [{ type: 'diff', path: 'notes.md', oldText: 'a\n', newText: 'b\n' }] }

describe('of the keys in the help', () => {
  let hub: Hub
  let device: Device
  let screen: Screen
  let page: Screen['page']
  let session: string
  /** The first unread seq. */
  let unread: number

  beforeAll(async () => {
    hub = await Hub.start({ agents })
    device = await Device.pair(hub)
    await hub.newSession('Below')
    session = await hub.newSession('Keys', 'told')
    await hub.newSession('Above')
    await turn(
      hub,
      session,
      long('One'),
      call('Look', { kind: 'read' }),
      long('Two'),
      call('Change', { kind: 'edit', ...diff }),
      long('Three'),
      call('Fail', { kind: 'execute', status: 'failed', rawInput: { command: 'false' } }),
      long('Four'),
    )
    const before = await device.watch(session, desktop)
    const read = hub.lastSeq(session)
    await before.reaches(session, read)
    await until('the hub told of what was read', async () => (await hub.session(session)).read_seq === read)
    await before.page.close()
    unread = read + 1
    for (const what of ['Five', 'Six', 'Seven']) await turn(hub, session, long(what))
    await hub.prompt(session, JSON.stringify([ask('asked')]))
    await hub.event(session, 'permission_request')
  })
  afterAll(async () => {
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })
  beforeEach(async () => {
    screen = await device.watch(session, desktop)
    page = screen.page
    await screen.reaches(session, hub.lastSeq(session))
    await page.locator('article').first().waitFor()
    // A new question takes the focus from an empty composer.
    await screen.permission.waitFor()
    await screen.feed.focus()
    return async () => {
      expect(screen.errors).toEqual([])
      await page.close()
    }
  })

  /** Waits until the focused element has this attribute. */
  const focused = (attribute: string) =>
    until(`the focus on ${attribute}`, () =>
      page.evaluate((attribute) => document.activeElement?.hasAttribute(attribute), attribute),
    )
  const dialog = (name: string) => page.getByRole('dialog', { name }).waitFor()
  /** Waits until the row with this text has the focus. */
  const onRow = (text: string | RegExp) =>
    until(`the focus on ${text}`, async () => {
      const row = page.locator('article:focus')
      return (await row.count()) === 1 && new RegExp(text).test((await row.textContent())!)
    })
  const press = async (keys: string) => {
    const single = keys.includes('+')
      ? [keys.replace('Ctrl', 'Control').replace(/[KF]$/, (key) => key.toLowerCase())]
      : [...keys]
    for (const key of single) await page.keyboard.press(key)
  }
  const keyOf = (action: Action) => bindings.find((b) => b.action === action)!.keys
  const inView = (seq: number) =>
    until(`event ${seq} at the top`, () =>
      page.evaluate((seq) => {
        const rows = [...document.querySelectorAll<HTMLElement>('article[data-seq]')]
        const row = rows.find((r) => Number(r.dataset['seq']) <= seq && seq <= Number(r.dataset['last']))
        const top = row?.getBoundingClientRect().top
        return top !== undefined && top > -10 && top < innerHeight / 2
      }, seq),
    )
  const followsEnd = () =>
    until('the end', () =>
      screen.feed.evaluate((feed) => feed.scrollHeight - feed.clientHeight - feed.scrollTop < 2),
    )
  const top = async () => {
    await press(keyOf('top'))
    await inView(2)
    await page.locator('article').first().focus()
  }
  const elsewhere = (name: string) => page.getByRole('heading', { name }).waitFor()

  /** The test of each action: it presses the keys and checks the effect. */
  const does: Record<Action, (keys: string) => Promise<void>> = {
    palette: async (keys) => {
      await press(keys)
      await until('the palette', async () => (await page.getByRole('option').count()) > 0)
    },
    help: async (keys) => {
      await press(keys)
      await dialog('Keys')
    },
    search: async (keys) => {
      await press(keys)
      await focused('data-search')
    },
    find: async (keys) => {
      await press(keys)
      await page.getByRole('searchbox', { name: 'Find in this session' }).waitFor()
      await focused('data-find')
      await press('Escape')
    },
    new_session: async (keys) => {
      await press(keys)
      await dialog('New session')
    },
    compose: async (keys) => {
      await press(keys)
      await focused('data-composer')
    },
    question: async (keys) => {
      await screen.permission.waitFor()
      await press(keys)
      await focused('data-permission')
    },
    // This session is the first in the list, because it has a question.
    next_session: async (keys) => {
      await press(keys)
      await elsewhere('Above')
    },
    previous_session: async (keys) => {
      await press(keyOf('next_session'))
      await elsewhere('Above')
      await press(keys)
      await elsewhere('Keys')
    },
    next: async (keys) => {
      await top()
      await press(keys)
      await onRow('One, line')
    },
    previous: async (keys) => {
      await top()
      for (const step of [keyOf('next'), keyOf('next_tool')]) await press(step)
      await onRow('Look')
      await press(keys)
      await onRow('One, line')
    },
    next_tool: async (keys) => {
      await top()
      await press(keys)
      await onRow('Look')
      await press(keys)
      await onRow('Change|notes.md')
    },
    previous_tool: async (keys) => {
      await top()
      // Pressed fast: the second press must continue from the target of the first.
      for (let i = 0; i < 2; i++) await press(keyOf('next_tool'))
      await onRow('Change|notes.md')
      await press(keys)
      await onRow('Look')
    },
    next_error: async (keys) => {
      await top()
      await press(keys)
      await onRow('Fail|false')
    },
    next_diff: async (keys) => {
      await top()
      await press(keys)
      await onRow('Change|notes.md')
      await press(keys)
      await page.getByText('No more changes.').waitFor()
    },
    previous_error: async (keys) => {
      await press(keys)
      await onRow('Fail|false')
    },
    previous_diff: async (keys) => {
      await press(keys)
      await onRow('Change|notes.md')
      await press(keys)
      await page.getByText('No earlier changes.').waitFor()
    },
    next_prompt: async (keys) => {
      await top()
      await press(keys)
      await until('a prompt', async () => (await page.locator('article:focus .prompt').count()) === 1)
    },
    previous_prompt: async (keys) => {
      await press(keys)
      await until('a prompt', async () => (await page.locator('article:focus .prompt').count()) === 1)
    },
    open: async (keys) => {
      await top()
      await press(keyOf('next_diff'))
      await onRow('Change|notes.md')
      const opens = page.locator('article:focus [aria-expanded]').first()
      const was = await opens.getAttribute('aria-expanded')
      for (const state of [was === 'true' ? 'false' : 'true', was]) {
        await press(keys)
        await until('open, then closed', async () => (await opens.getAttribute('aria-expanded')) === state)
      }
    },
    unread: async (keys) => {
      await followsEnd()
      await press(keys)
      await inView(unread)
    },
    top: async (keys) => {
      await press(keys)
      await until('the first row', () => screen.feed.evaluate((feed) => feed.scrollTop === 0))
      await inView(2)
    },
    end: async (keys) => {
      await top()
      await press(keys)
      await followsEnd()
    },
  }

  // Any other action sends the read mark to the hub, so "unread" is tested first.
  const first = bindings.filter((b) => b.action === 'unread')
  const others = bindings.filter((b) => b.action !== 'unread')
  test.each([...first, ...others])('$keys is: $action', async ({ keys, action }) => {
    await does[action](keys)
  })

  test('each is in the help once, and the only others are those of a field and a question', async () => {
    await press(keyOf('help'))
    await dialog('Keys')
    const named = await page.getByRole('dialog').locator('kbd').allInnerTexts()
    expect(named).toEqual([
      ...bindings.map((b) => b.keys),
      'Ctrl+Enter',
      'Enter',
      'Ctrl+Shift+Enter',
      'Shift+Enter',
      'Esc',
      'Esc Esc',
      '↑',
      '↑ ↓',
      'a',
      's',
      'x',
    ])
    expect(new Set(named).size).toBe(named.length)
  })

  test('letters do nothing in a text field', async () => {
    await press(keyOf('compose'))
    await focused('data-composer')
    const letters = bindings.map((b) => b.keys).filter((keys) => !keys.includes('+'))
    for (const keys of letters) await press(keys)
    await expect.poll(() => screen.composer.inputValue()).toBe(letters.join(''))
    expect(await page.locator('dialog[open]').count()).toBe(0)
    await screen.composer.fill('')
  })

  // "always" comes last, because the action is not asked again after it.
  test.each([
    ['a', 'once'],
    ['x', 'no'],
    ['s', 'always'],
  ])('%s answers a question that has the focus: %s', async (key, option) => {
    const before = hub.lastSeq(session)
    await screen.permission.waitFor()
    await until('an answer to count', () => screen.permission.locator('[data-option]').first().isEnabled())
    await screen.permission.focus()
    await press(key)
    const { data, seq } = await hub.event(session, 'permission_outcome', before)
    expect(data.option_id).toBe(option)
    await hub.event(session, 'turn_end', seq)
    await hub.idle(session)
    await hub.prompt(session, JSON.stringify([ask(`after ${key}`)]))
    await hub.event(session, 'permission_request', seq)
  })
})
