import { later } from '../calm'
import { comparing } from '../lazy'

export const loadInspector = later(() => import('./Inspector.svelte'))
export const loadEntry = () => import('./Entry.svelte')

// The parts of a session that most sessions do not show.
const rare =
  <T>(of: (parts: typeof import('./rare')) => T) =>
  async () => ({ default: of(await import('./rare')) })

export const loadAgentFailed = rare((all) => all.AgentFailed)
export const loadWatchers = rare((all) => all.Watchers)
export const loadDetails = rare((all) => all.Details)
export const loadArchived = rare((all) => all.Archived)
export const loadAway = rare((all) => all.Away)
export const loadGone = rare((all) => all.Gone)
export const loadReplaced = rare((all) => all.Replaced)
export const loadImported = rare((all) => all.Imported)
export const loadKin = rare((all) => all.Kin)
export const loadTags = rare((all) => all.Tags)
export const loadShut = rare((all) => all.Shut)
export const loadDraftNotes = rare((all) => all.DraftNotes)
export const loadFiles = rare((all) => all.Files)
export const loadQueue = rare((all) => all.Queue)
export const loadInterrupted = rare((all) => all.Interrupted)
export const loadPaused = rare((all) => all.Paused)
export const loadRestoring = rare((all) => all.Restoring)
const catchUp = rare((all) => all.CatchUp)
export const loadCatchUp = () => comparing(catchUp())
