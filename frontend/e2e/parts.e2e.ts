import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { desktop, phone } from './rig/browser.ts'
import { Device } from './rig/device.ts'
import { Hub } from './rig/hub.ts'
import { until } from './rig/until.ts'

describe('a small part of the screen', () => {
  let hub: Hub
  let device: Device
  let other: Device

  beforeAll(async () => {
    hub = await Hub.start({ folder: 'a-folder-whose-name-is-longer-than-a-narrow-column' })
    device = await Device.pair(hub)
    other = await Device.pair(hub, { size: phone })
  })
  afterAll(async () => {
    await other.stop()
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })

  test('a path shows its file name if its folder does not fit, and stays within its row if even that does not fit', async () => {
    const session = await hub.newSession('Paths')
    const screen = await device.watch(session, desktop)
    const long = `${'a-name-nobody-would-choose-'.repeat(4)}end.md`
    for (const name of ['short.md', long]) {
      await screen.prompt(`/edit ${name}`)
      await screen.permission.waitFor()
      await until('the question to be answerable', () =>
        screen.permission.locator('[data-option]').first().isEnabled(),
      )
      await screen.permission.locator('[data-option]', { hasText: 'Allow' }).first().click()
      await until('the end', async () => (await screen.facts()).turn === 'idle')
      await screen.permission.waitFor({ state: 'detached' })
    }
    const paths = screen.page.locator('.inspector .path')
    await until('both files', async () => (await paths.count()) === 2)
    const shown = () =>
      paths.evaluateAll((all) =>
        all.map((path) => {
          const [folder, name] = [...path.children] as HTMLElement[]
          const cut = (part: HTMLElement) => part.scrollWidth > part.clientWidth
          const inside =
            path.getBoundingClientRect().right <= path.parentElement!.getBoundingClientRect().right + 1
          return { name: name!.textContent, folderCut: cut(folder!), nameCut: cut(name!), inside }
        }),
      )
    // The sums, and with them the rows, may come anew in the meantime.
    await expect
      .poll(async () => (await shown()).find((path) => path.name === 'short.md'))
      .toMatchObject({ folderCut: true, nameCut: false, inside: true })
    await expect
      .poll(async () => (await shown()).find((path) => path.name === long))
      .toMatchObject({ nameCut: true, inside: true })
    await screen.page.close()
  })

  test('a short question has no blank space below its text', async () => {
    const session = await hub.newSession('Short')
    const screen = await device.watch(session, phone)
    await screen.prompt('/ask')
    await screen.permission.waitFor()
    const blank = () =>
      screen.permission.locator('.what').evaluate((box) => {
        const said = [...box.children].map((part) => part.getBoundingClientRect().bottom)
        return Math.round(box.getBoundingClientRect().bottom - Math.max(...said))
      })
    await until('no blank', async () => (await blank()) <= 1)
    await screen.page.close()
    await hub.deleteSession(session)
  })

  test('the observers are shown: their number, their typing, and nothing after they have left', async () => {
    const session = await hub.newSession('Presence')
    const mine = await device.watch(session)
    const here = mine.page.getByRole('img', { name: /Also here/ })
    expect(await here.count()).toBe(0)
    const theirs = await other.watch(session, phone)
    await here.waitFor()
    await until('one other', async () => (await here.innerText()).trim() === '1')
    // The typing mark disappears soon after the last key, so keep typing until it is shown.
    await until('that they type', async () => {
      await theirs.composer.pressSequentially('a')
      const told = await here.getAttribute('aria-label')
      return /types…/.test(await here.innerText()) && /: typing/.test(told ?? '')
    })
    await theirs.page.close()
    await here.waitFor({ state: 'detached' })
    await mine.page.close()
  })
})
