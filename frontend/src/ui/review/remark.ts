import { mount, unmount } from 'svelte'
import { quoteMost } from '../../state/reviews'
import { relative } from '../../text/path'
import type { DiffLine } from '../../text/diff'
import type { NewComment } from '../../wire/gen'
import type { Screens } from '../app.svelte'
import type { SessionView } from '../session/view.svelte'
import Remark from './Remark.svelte'

/** Opens the dialog in which a place is commented on. */
export function remark(
  app: Screens,
  view: SessionView,
  at: Omit<NewComment, 'text'>,
  edit?: () => void,
): void {
  const close = () => void unmount(dialog)
  const dialog = mount(Remark, { target: document.body, props: { app, view, at, edit, close } })
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

/** Comments on the line that a number belongs to, if one was touched. */
export function onLine(app: Screens, view: SessionView, target: Element, of: Lined): void {
  const cell = target.closest<HTMLElement>('.n')?.parentElement
  const line = cell && of.lines[Number(cell.dataset['i'])]
  if (!cell || !line || line.kind === 'hunk') return
  const row = cell.closest<HTMLElement>('[data-last]')?.dataset['last']
  const by = of.wrote?.(line)
  const at = of.numberOf(line, line.new ? 'now' : 'old')
  const place = {
    from_seq: by?.seq || Number(row) || latest(app, view.id),
    path: relative(of.path, view.workspace),
    ...(at && { line: at }),
    ...(!line.new && { side: 'old' }),
    quote: line.text.slice(0, quoteMost),
  }
  remark(app, view, place, by?.go)
}

/** The newest event that the app knows of a session. */
export function latest(app: Screens, id: string): number {
  return app.session(id)?.feed.last || app.state.list?.get(id)?.max_seq || 1
}
