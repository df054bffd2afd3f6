// Small parts of the screens, each for a message of an agent.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { desktop } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import { agents, call, say, turn } from './rig/told.ts'
import { until } from './rig/until.ts'

/** The name with a character that reverses the text after it. */
const odd = (name: string) => `${name}\u202egpj`
const seen = (name: string) => `${name}U+202Egpj`

describe('a message of an agent', () => {
  const rig = paired({ hub: { agents } })

  test('about its context size is shown in the header, the newest one only', async () => {
    const session = await rig.hub.newSession('Usage', 'told')
    await turn(rig.hub, session, say('Nothing of it yet.'))
    const screen = await rig.device.watch(session, desktop)
    const head = screen.page.locator('main header')
    await head.getByText('told').waitFor()
    const tokens = head.getByTitle(/tokens of context/)
    expect(await tokens.count()).toBe(0)
    for (const [used, shown] of [
      [53_200, '53k / 200k'],
      [180_000, '180k / 200k'],
    ] as const) {
      await turn(rig.hub, session, { sessionUpdate: 'usage_update', used, size: 200_000 })
      await head.getByText(shown, { exact: true }).waitFor()
      await expect.poll(() => tokens.getAttribute('title')).toBe(`${used} of 200000 tokens of context`)
      await expect.poll(() => tokens.count()).toBe(1)
    }
    expect(screen.errors).toEqual([])
    await screen.page.close()
  })

  test('shows invisible characters by name: in thoughts, links, forms, costs and commands', async () => {
    const session = await rig.hub.newSession('Odd', 'told')
    await turn(
      rig.hub,
      session,
      {
        sessionUpdate: 'agent_thought_chunk',
        messageId: 't',
        content: { type: 'text', text: odd('thought') },
      },
      say('Look:'),
      {
        sessionUpdate: 'agent_message_chunk',
        content: { type: 'resource_link', uri: 'file:///src/a.txt', name: odd('link') },
      },
      call(odd('title'), { kind: 'execute', rawInput: { command: odd('command') } }),
      { sessionUpdate: 'plan', entries: [{ content: odd('plan'), priority: 'high', status: 'pending' }] },
      { sessionUpdate: 'usage_update', used: 1, size: 2, cost: { amount: 1.5, currency: odd('EUR') } },
      {
        sessionUpdate: 'available_commands_update',
        availableCommands: [{ name: odd('go'), description: odd('goes') }],
      },
    )
    const screen = await rig.device.watch(session, desktop)
    await screen.reaches(session, rig.hub.lastSeq(session))
    const details = screen.page.getByRole('complementary', { name: 'Details' })
    const has = (what: string, text: () => Promise<string>) =>
      until(`${what} in ${seen(what)}`, async () => (await text()).includes(seen(what)))
    for (const what of ['thought', 'link', 'command', 'plan'])
      await has(what, async () => (await screen.feed.textContent())!)
    await has('EUR', async () => (await details.textContent())!)
    await screen.composer.pressSequentially('/')
    for (const what of ['go', 'goes'])
      await has(what, async () => (await screen.page.getByRole('listbox').textContent())!)
    // No text contains the character itself: a mark element shows its name.
    const bare = await screen.page.evaluate(() => {
      const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
      const found: string[] = []
      while (walk.nextNode())
        if (walk.currentNode.textContent!.includes('\u202e'))
          found.push(walk.currentNode.parentElement!.outerHTML.slice(0, 200))
      return found.filter((html) => !html.startsWith('<mark') && !html.includes('p class="text"'))
    })
    // The only exception is the prompt, which a person wrote.
    expect(bare.filter((html) => !html.includes('sessionUpdate'))).toEqual([])
    expect(screen.errors).toEqual([])
    await screen.page.close()
  })

  test('has a row with its position and the number of all rows, while all events are loaded', async () => {
    const session = await rig.hub.newSession('Places', 'told')
    const many = Array.from({ length: 40 }, (_, i) => [say(`Message ${i}.\n\n`.repeat(5)), call(`Call ${i}`)])
    await turn(rig.hub, session, ...many.flat())
    const screen = await rig.device.watch(session, desktop)
    await screen.reaches(session, rig.hub.lastSeq(session))
    const all = (await screen.rows()).length
    expect(all).toBeGreaterThan(80)
    const places = () =>
      screen.feed
        .locator('article')
        .evaluateAll((rows) =>
          rows.map((row) => [
            Number(row.getAttribute('aria-posinset')),
            Number(row.getAttribute('aria-setsize')),
          ]),
        )
    const follow = (found: number[][], from: number) =>
      expect(found).toEqual(found.map((_, at) => [from + at, all]))
    const end = await places()
    expect(end.length, 'some are not in the page').toBeLessThan(all)
    follow(end, all - end.length + 1)
    await screen.feed.focus()
    for (const key of ['g', 'g']) await screen.page.keyboard.press(key)
    await until('the first', async () => (await places())[0]?.[0] === 1)
    follow(await places(), 1)
    await screen.page.close()
  })

  test('with a second change shows its lines as soon as its row is rendered, so that the row does not grow later', async () => {
    const session = await rig.hub.newSession('Two changes', 'told')
    const edit = (path: string) =>
      call(`Edit ${path}`, {
        kind: 'edit',
        content: [{ type: 'diff', path, oldText: 'one\ntwo\n', newText: 'one\n2\n' }],
      })
    await turn(rig.hub, session, edit('/first'))
    const screen = await rig.device.watch(session, desktop)
    await screen.feed.locator('figure').waitFor()
    await screen.page.evaluate(() => {
      const bare: string[] = []
      Object.assign(window, { bare })
      // The observer runs before any other task of the page, so it sees the row as it was first rendered.
      new MutationObserver((list) => {
        for (const row of list.flatMap((m) => [...m.addedNodes]).filter((node) => node instanceof Element))
          for (const change of row.querySelectorAll('.tool.panel'))
            if (!change.querySelector('figure')) bare.push(change.textContent)
      }).observe(document.querySelector('[role=feed]')!, { childList: true, subtree: true })
    })
    await turn(rig.hub, session, edit('/second'))
    await until('both changes', async () => (await screen.feed.locator('figure').count()) === 2)
    expect(await screen.page.evaluate(() => (window as unknown as { bare: string[] }).bare)).toEqual([])
    await screen.page.close()
  })

  test('belongs to a session that the list’s search finds by its project', async () => {
    for (const project of ['orchard', 'harbour']) {
      const workspace = join(rig.hub.workspace, project)
      mkdirSync(workspace, { recursive: true })
      await rig.hub.api('POST', '/api/sessions', { agent: 'demo', workspace, name: `In the ${project[0]}` })
    }
    const { page } = await rig.device.open('/', desktop)
    const lines = page.getByRole('navigation', { name: 'Sessions' }).locator('a[href^="/s/"]')
    const field = page.getByRole('searchbox', { name: 'Search sessions' })
    for (const [project, name] of [
      ['orchard', 'In the o'],
      ['HARBOUR', 'In the h'],
    ]) {
      await field.fill(project!)
      await until(`what is in ${project}`, async () => {
        const found = await lines.allInnerTexts()
        return found.length === 1 && found[0]!.includes(name!)
      })
    }
    await field.fill('')
    await until('all again', async () => (await lines.count()) > 2)
    await page.close()
  })
})
