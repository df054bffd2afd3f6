import type { Renderer } from '../markdown/render'
import type { Feed } from '../state/feed'
import type { Seq } from '../wire/gen'
import { later } from './calm'
import { comparer } from './feed/changes.svelte'

type Make = (element: HTMLElement, whole: boolean) => Renderer

/** A part of the app that is loaded once, and from then on is at hand. */
class Part<T> {
  here: T | null = null
  private loading: Promise<T> | undefined

  constructor(private readonly fetch: () => Promise<T>) {}

  load(): Promise<T> {
    return (this.loading ??= this.fetch().then(
      (part) => (this.here = part),
      (error: unknown) => {
        this.loading = undefined // the next wish tries again
        throw error
      },
    ))
  }
}

/** The parser, the sanitiser and the highlighter's front. */
export const markdown = new Part<Make>(async () => {
  const { Renderer, highlight } = await import('../markdown/prose')
  return (element, whole) => new Renderer(element, highlight, whole, whole ? 3 : 2)
})

/** The line about a turn's end: many opened sessions have none. */
export const speech = new Part(async () => {
  const [{ turnSpoken }, { spoken }] = await Promise.all([
    import('../state/announce'),
    import('../text/spoken'),
  ])
  return (feed: Feed, since: Seq) => turnSpoken(feed, since, spoken)
})

/**
 * The code that shows changes as soon as they are on screen comes with the code that compares them.
 */
export async function comparing<T>(part: Promise<T>): Promise<T> {
  const [loaded] = await Promise.all([part, comparer.load()])
  return loaded
}

/**
 * Returns the function that loads a dialog. Each is a function of its own, by which Lazy recognises
 * a loaded dialog.
 */
const dialog =
  <T>(of: (dialogs: typeof import('./dialogs')) => T) =>
  async () => ({ default: of(await import('./dialogs')) })

export const loadPalette = dialog((all) => all.Palette)
export const loadHelp = dialog((all) => all.Help)
export const loadNewSession = dialog((all) => all.NewSession)
export const loadRules = dialog((all) => all.Rules)
export const loadAgent = dialog((all) => all.AgentPanel)
export const loadMenu = dialog((all) => all.SessionMenu)
export const loadToast = () => import('./parts/Toast.svelte')
export const loadNothing = () => import('./parts/Nothing.svelte')
export const loadChips = () => import('./session/Chips.svelte')
export const loadOptions = dialog((all) => all.OptionsSheet)
export const loadSchedule = dialog((all) => all.Schedule)

const acts = <T>(of: (parts: typeof import('./list/acts')) => T) =>
  later(async () => ({ default: of(await import('./list/acts')) }))

export const loadAddHint = acts((all) => all.AddHint)
export const loadEmpty = acts((all) => all.Empty)
export const loadFilters = acts((all) => all.Filters)
export const loadTrees = acts((all) => all.Trees)
export const loadInterruptions = acts((all) => all.Interruptions)
export const loadActs = acts((all) => all.Acts)
export const loadTextSearch = acts((all) => all.TextSearch)
export const loadWaiting = acts((all) => all.Waiting)
export const loadLaunch = acts((all) => all.Launch)

/** The other screens, and the parts of a session that most sessions do not show. */
const finding =
  <T>(of: (parts: typeof import('./review/finding')) => T) =>
  async () => ({ default: of(await import('./review/finding')) })

export const loadFind = finding((all) => all.Find)
export const loadMarks = finding((all) => all.Marks)
export const loadSession = () => import('./session/Session.svelte')
export const loadPlain = () => import('./plain/Plain.svelte')
export const loadReview = () => comparing(import('./review/Review.svelte'))
export const loadFileScreen = () => import('./files/FileScreen.svelte')
export const loadPutAway = later(() => import('./list/PutAway.svelte'))
export const loadTellHint = later(() => import('./list/TellHint.svelte'))
export const loadLineTags = () => import('./list/Tags.svelte')
export const loadBranchCounts = later(() => import('./list/BranchCounts.svelte'))
export const loadBranchState = () => import('./files/BranchState.svelte')
export const loadBranchPanel = () => import('./files/BranchPanel.svelte')
export const loadLeftCopy = () => import('./list/LeftCopy.svelte')
export const loadJoinPanel = () => import('./files/JoinPanel.svelte')
export const loadFork = () => import('./review/Fork.svelte')
export const loadTake = () => import('./review/Take.svelte')
export const loadPlay = () => import('./play/Play.svelte')
export const loadSettings = () => import('./Settings.svelte')
export const loadUsage = () => import('./usage/Usage.svelte')
export const loadNewJob = () => import('./jobs/NewJob.svelte')
export const loadJobCard = () => import('./jobs/JobCard.svelte')
export const loadJobs = () => import('./jobs/Jobs.svelte')
export const loadCompared = () => import('./jobs/Compared.svelte')
export const loadAgentLogin = () => import('./settings/AgentLogin.svelte')
export const loadPast = () => import('./list/Past.svelte')
export const loadGranted = () => import('./parts/Granted.svelte')
export const loadPair = () => import('./Pair.svelte')
export const loadPermission = () => comparing(import('./session/PermissionSheet.svelte'))
export const loadDiff = () => comparing(import('./feed/Diff.svelte'))
