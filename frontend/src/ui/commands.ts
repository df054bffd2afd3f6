import { tick } from 'svelte'
import type { Screens } from './app.svelte'
import { chooseImport } from './list/bring'
import type { Entry } from './session/entries'

/** One line of the palette. */
export type Choice = Pick<Entry, 'name' | 'hint' | 'also' | 'act' | 'checked'>

/** The commands of the palette that are not of one session; `run` carries out a key's action. */
export function commandsOf(app: Screens, run: (action: string) => void): Choice[] {
  const viewer = app.state.hub?.scope === 'viewer'

  /** The settings, at one of their parts once that is there. */
  function settings(part: string) {
    app.part = part
    app.router.go('/settings')
  }

  /** Searches in the list, which is a screen of its own on a phone. */
  async function search() {
    if (!document.querySelector<HTMLElement>('[data-search]')?.offsetParent) app.router.go('/')
    await tick()
    run('search')
  }

  return [
    { name: t`New session`, hint: 'c', also: t`start create add`, act: () => run('new_session') },
    ...(viewer
      ? []
      : [
          {
            name: t`Import a session…`,
            hint: t`from an exported file`,
            also: t`upload open zip`,
            act: () => chooseImport(app),
          },
        ]),
    {
      name: t`Search all sessions`,
      hint: '/',
      also: t`find text messages titles`,
      act: () => search(),
    },
    { name: t`Write a prompt`, hint: 'i', also: t`composer ask message`, act: () => run('compose') },
    { name: t`Jump to latest`, hint: 'G', act: () => run('end') },
    { name: t`Jump to first unread`, hint: 'u', act: () => run('unread') },
    {
      name: t`Waiting question`,
      hint: 'q',
      also: t`permission answer allow reject`,
      act: () => run('question'),
    },
    { name: t`All sessions`, hint: '', also: t`home list back`, act: () => app.router.go('/') },
    ...(viewer
      ? []
      : [
          {
            name: t`New job`,
            hint: t`runs to its end by itself`,
            also: t`start background task delegate`,
            act: () => (app.overlay = 'new_job'),
          },
        ]),
    { name: t`Jobs`, hint: '', also: t`background tasks queue`, act: () => app.router.go('/jobs') },
    {
      name: t`Usage`,
      hint: t`tokens and cost`,
      also: t`money spend chart budget`,
      act: () => app.router.go('/usage'),
    },
    {
      name: t`Settings`,
      hint: '',
      also: t`preferences text size agents about version`,
      act: () => app.router.go('/settings'),
    },
    {
      name: t`Notifications`,
      hint: t`in the settings`,
      also: t`push mute alerts sound`,
      act: () => settings('notifications'),
    },
    {
      name: t`Devices and tokens`,
      hint: t`in the settings`,
      also: t`sign out log out revoke access session browser`,
      act: () => settings('devices'),
    },
    ...(viewer
      ? []
      : [
          {
            name: t`Storage`,
            hint: t`in the settings`,
            also: t`disk space size quota clean up trash deleted restore`,
            act: () => settings('storage'),
          },
          {
            name: t`Add a device`,
            hint: t`a phone, another browser`,
            also: t`pair qr link phone`,
            act: () => {
              app.adding = true
              app.router.go('/settings')
            },
          },
        ]),
    { name: t`Keys`, hint: '?', also: t`help shortcuts keyboard`, act: () => run('help') },
    { name: t`Theme: light`, hint: '', also: t`appearance mode`, act: () => (app.prefs.theme = 'light') },
    { name: t`Theme: dark`, hint: '', also: t`appearance night mode`, act: () => (app.prefs.theme = 'dark') },
    {
      name: t`Theme: as the system`,
      hint: '',
      also: t`appearance auto`,
      act: () => (app.prefs.theme = 'system'),
    },
  ]
}
