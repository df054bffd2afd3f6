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
  /** Further words by which the palette finds it. */
  also?: string
  act: () => unknown
  /** Of several of which one holds: whether it is this one. */
  checked?: boolean
}

/** The commands for the session on screen. The menu shows some of them, the palette all. */
export interface Entries {
  turn: Entry[]
  session: Entry[]
  /** What is done with it seldom. */
  rare: Entry[]
  link: Entry
  modes: Entry[]
  options: Entry[]
  views: Entry[]
  /** Makes something of it. */
  take: Entry[]
  rules: Entry[]
  panels: Entry[]
}

/** How an agent gets this session back, apart from its own one. */
const backWays = [
  ['local', t`Resume with a short summary`],
  ['segmented', t`Resume with the full history`],
] as const

/** The statuses in which there is work, or an agent, to pause. */
export const pausable: readonly SessionInfo['status'][] = ['idle', 'running', 'needs_you', 'failed']

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
      ? [
          {
            name: t`Stop`,
            hint: t`end the turn`,
            also: t`cancel interrupt halt`,
            act: () => app.hub.cancel(id),
          },
        ]
      : none),
    ...(info && !viewer && pausable.includes(info.status)
      ? [
          {
            name: t`Pause`,
            hint: t`stop its work until you resume it`,
            also: t`halt hold suspend sleep`,
            act: () => deeds.pause(info),
          },
        ]
      : none),
    ...(info && !info.imported && !viewer
      ? [
          {
            name: t`Run in background…`,
            hint: t`the prompt as a job`,
            also: t`delegate task agent start`,
            act: () => (app.overlay = 'background'),
          },
        ]
      : none),
    ...(info?.status === 'interrupted' || info?.status === 'paused'
      ? [
          {
            name: t`Resume…`,
            hint: info.status === 'paused' ? t`this session` : t`the interrupted turn`,
            also: t`continue retry go on`,
            act: () => document.querySelector<HTMLElement>('[data-interrupted] .actions button')?.focus(),
          },
        ]
      : none),
  ]
  const of = (of: SessionInfo): Entry[] => [
    {
      name: of.pinned ? t`Unpin` : t`Pin`,
      hint: t`this session`,
      also: t`favourite keep on top`,
      act: () => deeds.pin(of),
    },
    {
      name: of.archived ? t`Unarchive` : t`Archive`,
      hint: t`this session`,
      also: t`put away hide close done`,
      act: () => deeds.archive([of]),
    },
  ]
  const rareOf = (of: SessionInfo): Entry[] => [
    ...(of.status === 'idle' ||
    of.status === 'failed' ||
    of.status === 'interrupted' ||
    of.status === 'paused'
      ? [
          {
            name:
              waiting === 0
                ? t`End session`
                : t`End session, remove ${counted(waiting, t`waiting prompt`, t`waiting prompts`)}`,
            hint: t`a later prompt opens it again`,
            also: t`close quit finish`,
            act: () => deeds.end(of, waiting > 0),
          },
        ]
      : none),
    ...(of.status === 'idle' || of.status === 'failed' || of.status === 'paused'
      ? backWays.map(([way, name]): Entry => ({
          name,
          hint: t`the agent starts again, without a prompt`,
          also: t`restore segmented begin new memory context way`,
          act: () => deeds.bringBack(of, way),
        }))
      : none),
    ...(of.imported || of.status === 'ended' || viewer
      ? none
      : [
          {
            name: of.resumable ? t`Do not offer to resume` : t`Offer to resume`,
            hint: t`when the app is launched`,
            also: t`resumable later mark start remind`,
            act: () => deeds.markResumable(of, !of.resumable),
          },
        ]),
    ...(of.status === 'damaged' || session?.shut != null
      ? [{ name: t`Open again`, hint: t`this session`, act: () => deeds.reopen(of) }]
      : none),
  ]
  return {
    turn,
    session: [...(info ? of(info) : none)],
    rare: [
      ...(info ? rareOf(info) : none),
      {
        name: t`Open printable transcript`,
        hint: t`the whole session on one page`,
        also: t`print plain text page`,
        act: at('plain'),
      },
    ],
    link: {
      name: t`Copy link`,
      hint: t`to this session`,
      also: t`address share url`,
      act: () => copyLink(app, id),
    },
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
      {
        name: t`Find…`,
        hint: t`in this session`,
        also: t`search text words`,
        act: () => (app.finding = true),
      },
      ...(viewer
        ? none
        : [
            {
              name: t`Files`,
              hint: t`of the workspace, and what changed`,
              also: t`diff git folder workspace commit discard`,
              act: at('files'),
            },
          ]),
      {
        name: t`Review`,
        hint: t`its turns, changes and comments`,
        also: t`diff search history`,
        act: at('review'),
      },
      {
        name: t`Play back`,
        hint: t`see the session again, step by step`,
        also: t`replay rewind recording watch player`,
        act: at('play'),
      },
    ],
    take: [
      ...(app.state.hub?.scope === 'owner'
        ? [
            {
              name: t`Fork…`,
              hint: t`continue it in a new session`,
              also: t`branch copy duplicate clone`,
              act: () => app.fork(),
            },
          ]
        : none),
      ...(viewer
        ? none
        : [
            {
              name: t`Export…`,
              hint: t`a page, text or events`,
              also: t`download share save html markdown zip archive`,
              act: () => (app.overlay = 'export'),
            },
          ]),
    ],
    rules: [
      {
        name: t`Rules…`,
        hint: t`automatic answers`,
        also: t`permissions always allow approve`,
        act: () => (app.overlay = 'rules'),
      },
    ],
    panels: [
      {
        name: t`Agent…`,
        hint: t`its state, options and login`,
        also: t`restart model account`,
        act: () => (app.overlay = 'agent'),
      },
    ],
  }
}

async function copyLink(app: Screens, id: string): Promise<void> {
  const link = `${location.origin}/s/${id}`
  app.say(
    (await copyText(link)) ? t`Link copied` : t`The browser does not let the app copy. The link is ${link}`,
  )
}
