import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'

describe('an agent that has gone silent', () => {
  let hub: Hub
  let device: Device

  beforeAll(async () => {
    // Longer than an agent takes to start on a busy machine.
    hub = await Hub.start({ silence: '4s' })
    device = await Device.pair(hub)
  })
  afterAll(async () => {
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })

  test('is reported in the feed, where it can be restarted, which shows the turn as stopped and not as failed', async () => {
    const session = await hub.newSession('Quiet')
    const screen = await device.watch(session)
    await screen.prompt('/hang')
    const told = await hub.event(session, 'agent_stalled')
    expect(told.data.silent_ms).toBeGreaterThanOrEqual(4000)
    await screen.feed.getByText(/Agent silent for/).waitFor()
    await screen.feed.getByRole('button', { name: 'Stop the turn' }).waitFor()
    await screen.feed.getByRole('button', { name: 'Restart the agent' }).click()
    const end = await hub.event(session, 'turn_end')
    expect(end.data.stop_reason).toBe('interrupted')
    await screen.feed.getByText('Interrupted: the agent was restarted.').waitFor()
    await screen.feed.getByRole('button', { name: 'Restart the agent' }).waitFor({ state: 'detached' })
    await hub.idle(session)
    await hub.turn(session, '/slow 1')
    const stalls = hub.events(session).filter((e) => e.type === 'agent_stalled' && e.seq < end.seq)
    expect(stalls, 'one silence is reported once').toHaveLength(1)
    expect(screen.errors).toEqual([])
    await screen.page.close()
  })

  test('is stopped by force when a person asks, and neither the list nor the feed shows a failure', async () => {
    const session = await hub.newSession('Forced')
    const screen = await device.watch(session)
    await screen.prompt('/hang')
    await hub.event(session, 'tool_call')
    await screen.page.getByRole('button', { name: 'Stop', exact: true }).click()
    await screen.page.getByRole('button', { name: 'Force stop' }).click()
    const end = await hub.event(session, 'turn_end')
    await screen.reaches(session, end.seq)
    const said = screen.feed.getByText(/Force-stopped/)
    await said.waitFor()
    expect(await said.evaluate((text) => text.closest('.bad') !== null), 'shown as gone wrong').toBe(false)
    await hub.idle(session)
    const line = screen.page.getByRole('link', { name: /Forced/ })
    await expect
      .poll(() => line.getAttribute('aria-label').then((l) => l ?? line.innerText()))
      .not.toMatch(/failed/i)
    await screen.page.close()
  })
})
