import { test } from 'vitest'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { phone } from './rig/browser.ts'
import { elapse } from './rig/until.ts'
test('x', async () => {
  const hub = await Hub.start()
  const d = await Device.pair(hub, { size: phone })
  const id = await hub.newSession('x')
  const s = await d.watch(id, phone)
  s.page.on('websocket', w => console.log(w.url()))
  s.page.on('console', m => console.log('console', m.text()))
  await s.prompt('Show me around')
  await s.permission.waitFor()
  await elapse(600)
  await s.page.screenshot({ path: '/tmp/e2e-scratch/a.png' })
  await s.answer('Allow once')
  await elapse(1000)
  await s.page.screenshot({ path: '/tmp/e2e-scratch/b.png' })
  console.log(JSON.stringify(hub.events(id).slice(-2)), hub.log)
  await d.stop(); await hub.stop()
})
