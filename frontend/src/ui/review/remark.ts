import { mount, unmount } from 'svelte'
import { linesMost, quoteMost, type Line } from '../../state/remarks'
import { relative } from '../../text/path'
import type { DiffLine } from '../../text/diff'
import type { NewComment } from '../../wire/gen'
import type { Screens } from '../app.svelte'
import type { SessionView } from '../session/view.svelte'
import Remark from './Remark.svelte'

/** The lines that a comment may be about, from its first, and how many of them were chosen. */
export interface Chosen {
  lines: readonly Line[]
  count: number
}

/** Opens the dialog in which a place is commented on. */
export function remark(
  app: Screens,
  view: SessionView,
  at: Omit<NewComment, 'text'>,
  chosen?: Chosen,
  edit?: () => void,
): void {
  const close = () => void unmount(dialog)
  const dialog = mount(Remark, { target: document.body, props: { app, view, at, chosen, edit, close } })
}

/** Comments on a message: on the words that are selected, else on all of it. */
export function onMessage(app: Screens, view: SessionView, seq: number, text: string): void {
  const chosen = getSelection()?.toString().trim()
  remark(app, view, { from_seq: seq, quote: (chosen || text.trim()).slice(0, quoteMost) })
}

/** A change whose lines are on the screen. */
export interface Lined {
  path: string
  lines: readonly DiffLine[]
  numberOf: (line: DiffLine, side: 'old' | 'now') => number | undefined
  wrote?: ((line: DiffLine) => { seq: number; go: () => void } | undefined) | undefined
}

/** Comments on the lines from one to another, in either order: those of the first one's side. */
export function onLines(
  app: Screens,
  view: SessionView,
  target: Element,
  of: Lined,
  from: number,
  to: number,
): void {
  const [top, end] = from < to ? [from, to] : [to, from]
  const line = of.lines[top]
  if (!line || line.kind === 'hunk') return
  const side = line.new ? 'now' : 'old'
  const rest = of.lines.slice(top)
  const hunk = rest.findIndex((l) => l.kind === 'hunk')
  const lines = (hunk < 0 ? rest : rest.slice(0, hunk)).filter((l) => (side === 'now' ? l.new : !l.new))
  const count = Math.max(1, lines.filter((l) => of.lines.indexOf(l) <= end).length)
  const row = target.closest<HTMLElement>('[data-last]')?.dataset['last']
  const by = of.wrote?.(line)
  const place = {
    from_seq: by?.seq || Number(row) || latest(app, view.id),
    path: relative(of.path, view.workspace),
    ...(side === 'old' && { side: 'old' }),
  }
  const choice = lines.slice(0, linesMost).map((l) => ({ text: l.text, at: of.numberOf(l, side) }))
  remark(app, view, place, { lines: choice, count: Math.min(count, linesMost) }, by?.go)
}

/** The newest event that the app knows of a session. */
export function latest(app: Screens, id: string): number {
  return app.session(id)?.feed.last || app.state.list?.get(id)?.max_seq || 1
}
