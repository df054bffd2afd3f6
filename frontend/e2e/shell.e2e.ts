import { expect, test } from 'vitest'
import { binaries } from './rig/hub.ts'
import { expectWhole } from './rig/oracle.ts'
import { paired } from './rig/paired.ts'
import { Process } from './rig/process.ts'
import { until } from './rig/until.ts'

const at = paired({ hub: { race: true } })

/** Runs an abide command in the hub's workspace. */
function abide(...args: string[]): Process {
  const env = { ...process.env, ABIDE_DATA: at.hub.data, GORACE: 'atexit_sleep_ms=0' }
  return new Process(binaries.abide, args, { cwd: at.hub.workspace, env })
}

/** Runs an abide command and fails unless it exits with 0. */
async function done(...args: string[]): Promise<void> {
  const command = abide(...args)
  expect(await command.exited, `abide ${args.join(' ')}: ${command.stderr}`).toBe(0)
}

test('a terminal, a browser and a script share a session, also after the hub was killed and restarted', async () => {
  const { hub, device } = at
  const session = await hub.newSession('Three of us')
  const page = await device.watch(session)
  const terminal = abide('attach', session)
  const printed: string[] = []
  terminal.child.stdout!.on('data', (text) => printed.push(String(text)))
  const prints = (text: string) => until(`the terminal with ${text}`, () => printed.join('').includes(text))

  // Prompted in the browser, answered by a script.
  await page.prompt('/ask')
  const first = await hub.event(session, 'permission_request')
  await prints('? echo hello')
  await done('answer', session, '1')
  await page.permission.waitFor({ state: 'hidden' })
  await prints('→ Allow once (command line)')
  await hub.event(session, 'turn_end')

  // Prompted by a script, answered in the browser.
  await done('prompt', session, '/ask')
  const second = await hub.event(session, 'permission_request', first.seq)
  await page.answer('Allow once')
  await prints('→ Allow once (Chrome on Linux)')
  await hub.event(session, 'turn_end', second.seq)

  // Prompted at the terminal, after the hub was killed and restarted.
  await hub.kill()
  await hub.start()
  await done('prompt', session, '/plan', '--wait')
  await prints('The plan is done.')
  const before = hub.lastSeq(session)
  terminal.write('/plan')
  const third = await hub.event(session, 'user_prompt', before)
  await hub.event(session, 'turn_end', third.seq)

  await expectWhole(page, hub, session)
  terminal.child.kill('SIGINT')
  expect(await terminal.exited).toBe(0)
})
