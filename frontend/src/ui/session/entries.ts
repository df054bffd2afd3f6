import { optionsOf } from '../../state/options'
import { told, turnState } from '../../state/select'
import type { SessionState } from '../../state/session'
import { copyText } from '../../text/clipboard'
import { counted } from '../../text/counted'
import type { SessionInfo } from '../../wire/gen'
import type { Screens } from '../app.svelte'
import { Deeds } from '../list/deeds'

/** One entry of the menu of a session and of the palette. */
export interface Entry {
  name: string
  /** Said beside it in the palette. */
  hint: string
  act: () => unknown
  /** Of several of which one holds: whether it is this one. */
  checked?: boolean
}

/** The commands for the session on screen. The menu shows some of them, the palette all. */
export interface Entries {
  turn: Entry[]
  session: Entry[]
  modes: Entry[]
  options: Entry[]
  views: Entry[]
  panels: Entry[]
}

export function entriesOf(
  app: Screens,
  id: string,
  info: SessionInfo | undefined,
  session: SessionState | undefined,
): Entries {
  const deeds = new Deeds(app)
  const viewer = app.state.hub?.scope === 'viewer'
  const agent = session ? told(session) : undefined
  const modes = agent?.modes ?? []
  const waiting = session?.live?.queue.length ?? 0
  // Some agents offer their modes as an option, too: once is enough.
  const options = optionsOf(agent?.config).filter((o) => o.category !== 'mode' || modes.length === 0)
  const at = (view: string) => () => app.router.go(`/s/${id}/${view}`)
  const none: Entry[] = []

  const turn = [
    ...(session && turnState(session) !== 'idle'
      ? [{ name: t`Stop`, hint: t`end the turn`, act: () => app.hub.cancel(id) }]
      : none),
    ...(info?.status === 'interrupted'
      ? [
          {
            name: t`Resume…`,
            hint: t`the interrupted turn`,
            act: () => document.querySelector<HTMLElement>('[data-interrupted] .actions button')?.focus(),
          },
        ]
      : none),
  ]
  const of = (of: SessionInfo): Entry[] => [
    { name: of.pinned ? t`Unpin` : t`Pin`, hint: t`this session`, act: () => deeds.pin(of) },
    { name: of.archived ? t`Unarchive` : t`Archive`, hint: t`this session`, act: () => deeds.archive([of]) },
    ...(of.status === 'idle' || of.status === 'failed' || of.status === 'interrupted'
      ? [
          {
            name:
              waiting === 0
                ? t`End session`
                : t`End session, remove ${counted(waiting, t`waiting prompt`, t`waiting prompts`)}`,
            hint: t`a later prompt opens it again`,
            act: () => deeds.end(of, waiting > 0),
          },
        ]
      : none),
    ...(of.status === 'damaged' || session?.shut != null
      ? [{ name: t`Open again`, hint: t`this session`, act: () => deeds.reopen(of) }]
      : none),
  ]
  return {
    turn,
    session: [
      ...(info ? of(info) : none),
      { name: t`Copy link`, hint: t`to this session`, act: () => copyLink(app, id) },
    ],
    modes: modes.map((m) => ({
      name: m.name,
      hint: '',
      act: () => app.hub.setMode(id, m.id),
      checked: m.id === agent?.mode?.mode_id,
    })),
    options: options.flatMap((o): Entry[] => {
      const set = (to: string | boolean) => () => app.hub.setConfigOption(id, o.id, to)
      if (o.kind === 'boolean')
        return [
          {
            name: o.value === true ? t`${o.name}: off` : t`${o.name}: on`,
            hint: '',
            act: set(o.value !== true),
          },
        ]
      return o.choices.map((c) => ({
        name: `${o.name}: ${c.name}`,
        hint: '',
        act: set(c.value),
        checked: c.value === o.value,
      }))
    }),
    views: [
      ...(viewer
        ? none
        : [{ name: t`Files`, hint: t`of the workspace, and what changed`, act: at('files') }]),
      { name: t`Play back`, hint: t`see the session again, step by step`, act: at('play') },
      { name: t`Review`, hint: t`its turns, changes and comments`, act: at('review') },
      { name: t`Open printable transcript`, hint: t`the whole session on one page`, act: at('plain') },
    ],
    panels: [
      { name: t`Rules…`, hint: t`automatic answers`, act: () => (app.overlay = 'rules') },
      { name: t`Agent…`, hint: t`its state, options and login`, act: () => (app.overlay = 'agent') },
      ...(viewer
        ? none
        : [{ name: t`Export…`, hint: t`a page, text or events`, act: () => (app.overlay = 'export') }]),
      ...(app.state.hub?.scope === 'owner'
        ? [{ name: t`Fork…`, hint: t`continue it in a new session`, act: () => app.fork() }]
        : none),
    ],
  }
}

async function copyLink(app: Screens, id: string): Promise<void> {
  const link = `${location.origin}/s/${id}`
  app.say(
    (await copyText(link)) ? t`Link copied` : t`The browser does not let the app copy. The link is ${link}`,
  )
}
