import type { Renderer } from '../markdown/render'
import type { Feed } from '../state/feed'
import type { Seq } from '../wire/gen'
import { comparer } from './feed/changes.svelte'

type Make = (element: HTMLElement, whole: boolean) => Renderer

/** A part of the app that is loaded once, and from then on is at hand. */
class Part<T> {
  here: T | null = null
  private loading: Promise<T> | undefined

  constructor(private readonly fetch: () => Promise<T>) {}

  load(): Promise<T> {
    return (this.loading ??= this.fetch().then((part) => (this.here = part)))
  }
}

/** The parser, the sanitiser and the highlighter's front. */
export const markdown = new Part<Make>(async () => {
  const { Renderer, highlight } = await import('../markdown/prose')
  return (element, whole) => new Renderer(element, highlight, whole, whole ? 3 : 2)
})

/** What says how a turn ended: many a session is opened in which none ends. */
export const speech = new Part(async () => {
  const [{ turnSpoken }, { spoken }] = await Promise.all([
    import('../state/announce'),
    import('../text/spoken'),
  ])
  return (feed: Feed, since: Seq) => turnSpoken(feed, since, spoken)
})

/** What shows changes as soon as it is on screen comes with what compares them. */
async function comparing<T>(part: Promise<T>): Promise<T> {
  await comparer.load()
  return part
}

/** What is not needed to show the list, or then to show a session. */
export const loadSession = () => import('./session/Session.svelte')
export const loadPlain = () => import('./plain/Plain.svelte')
export const loadSettings = () => import('./Settings.svelte')
export const loadPalette = () => import('./Palette.svelte')
export const loadPair = () => import('./Pair.svelte')
export const loadQueue = () => import('./session/Queue.svelte')
export const loadPermission = () => comparing(import('./session/PermissionSheet.svelte'))
export const loadOptions = () => import('./session/Options.svelte')
export const loadInspector = () => import('./session/Inspector.svelte')
export const loadEntry = () => import('./session/Entry.svelte')
export const loadContent = () => import('./feed/Content.svelte')
export const loadTerminal = () => import('./feed/Terminal.svelte')
export const loadUnknown = () => import('./feed/Unknown.svelte')
export const loadLarge = () => import('./feed/Large.svelte')
export const loadDiff = () => comparing(import('./feed/Diff.svelte'))
export const loadLargeDiff = () => comparing(import('./feed/LargeDiff.svelte'))
export const loadMedia = () => import('./feed/Media.svelte')
export const loadDetails = () => import('./session/Details.svelte')
export const loadGone = () => import('./session/Gone.svelte')
export const loadArchived = () => import('./session/Archived.svelte')
export const loadShut = () => import('./session/Shut.svelte')
export const loadReplaced = () => import('./session/Replaced.svelte')
export const loadMenu = () => import('./session/SessionMenu.svelte')
export const loadCatchUp = () => comparing(import('./session/CatchUp.svelte'))
export const loadRules = () => import('./session/Rules.svelte')
export const loadAgent = () => import('./session/AgentPanel.svelte')
export const loadCommands = () => import('./session/Commands.svelte')
export const loadDraftNotes = () => import('./session/DraftNotes.svelte')
export const loadFiles = () => import('./session/Files.svelte')
export const loadWatchers = () => import('./session/Watchers.svelte')
export const loadFailed = () => import('./session/AgentFailed.svelte')
export const loadSchedule = () => import('./session/Schedule.svelte')
export const loadHelp = () => import('./Help.svelte')
export const loadTextSearch = () => import('./list/TextSearch.svelte')
export const loadNewSession = () => import('./list/NewSession.svelte')
