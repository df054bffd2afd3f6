import ArrowUp from '@lucide/svelte/icons/arrow-up'
import ArrowUpToLine from '@lucide/svelte/icons/arrow-up-to-line'
import Clock from '@lucide/svelte/icons/clock'
import Copy from '@lucide/svelte/icons/copy'
import FileText from '@lucide/svelte/icons/file-text'
import FolderTree from '@lucide/svelte/icons/folder-tree'
import GitFork from '@lucide/svelte/icons/git-fork'
import Link from '@lucide/svelte/icons/link'
import ListPlus from '@lucide/svelte/icons/list-plus'
import MessageSquare from '@lucide/svelte/icons/message-square'
import Pencil from '@lucide/svelte/icons/pencil'
import Rocket from '@lucide/svelte/icons/rocket'
import TextSelect from '@lucide/svelte/icons/text-select'
import Undo2 from '@lucide/svelte/icons/undo-2'
import type { PromptItem, TextItem } from '../../state/items'
import type { FileChange } from '../../state/tool'
import { relative } from '../../text/path'
import type { Screens } from '../app.svelte'
import { held } from '../parts/held'
import { copies, menu, type Choice } from '../parts/menu'
import type { SessionView } from '../session/view.svelte'
import { comparer } from './changes.svelte'

/** Opens the menu of a prompt or of an agent's message at its button. */
export function messageActs(
  app: Screens,
  view: SessionView,
  item: PromptItem | TextItem,
  at: HTMLElement,
): void {
  const row = at.closest<HTMLElement>('[data-acts]')!
  const prompt = item.kind === 'prompt' ? item : null
  const scope = app.state.hub?.scope
  const choices: (Choice | false)[] = [
    // Of a text kept in a file only the beginning is here.
    prompt !== null &&
      view.again !== null &&
      prompt.blobs.length === 0 && {
        name: t`Edit and send again`,
        icon: Pencil,
        act: () => view.again?.(prompt),
      },
    {
      name: t`Copy`,
      icon: Copy,
      act: () =>
        copies(
          app,
          prompt
            ? item.text
            : (row.querySelector<HTMLElement>('.prose:not(.plain)')?.innerText.trim() ?? item.text),
        ),
    },
    prompt === null && { name: t`Copy as Markdown`, icon: FileText, act: () => copies(app, item.text) },
    matchMedia('(pointer: coarse)').matches && {
      name: t`Select text`,
      icon: TextSelect,
      act: () => select(row),
    },
    {
      name: t`Copy link`,
      icon: Link,
      act: () => copies(app, `${location.origin}/s/${view.id}?seq=${item.seq}`),
    },
    scope !== 'viewer' && {
      name: t`Comment…`,
      icon: MessageSquare,
      act: async () =>
        (await app.field(import('../review/remark'))).onMessage(app, view, item.last, item.text),
    },
    // An imported session's folder is of another machine: there the dialog asks for one.
    scope === 'owner' &&
      !app.state.list?.get(view.id)?.imported && {
        name: t`Fork from here`,
        icon: GitFork,
        act: async () => (await import('../review/forknow')).forkNow(app, view.id, item.last),
      },
    scope === 'owner' && { name: t`Fork elsewhere…`, icon: FolderTree, act: () => app.fork(item.last) },
    prompt !== null &&
      scope === 'owner' &&
      !app.state.list?.get(view.id)?.imported && {
        name: t`Go back to before this…`,
        icon: Undo2,
        act: async () => (await import('../review/undo')).goBack(app, view.id, prompt.turn),
      },
  ]
  menu(
    at,
    prompt ? t`Prompt` : t`Message`,
    choices.filter((c) => c !== false),
  )
}

/** A finger that stays chooses no text there, unless this was asked for. */
function select(row: HTMLElement): void {
  row.dataset['selects'] = ''
  getSelection()?.selectAllChildren(row.querySelector('.prose, p') ?? row)
}

/** Opens the menu of a change at its button. */
export function changeActs(app: Screens, view: SessionView, change: FileChange, at: HTMLElement): void {
  const path = relative(change.path, view.workspace)
  menu(at, t`Change`, [
    { name: t`Copy path`, icon: Link, act: () => copies(app, change.path) },
    { name: t`Copy diff`, icon: Copy, act: () => copies(app, comparer.patch({ ...change, path })) },
  ])
}

/** A finger that stays on a line of a change comments on it, and on a message opens its menu. */
export function heldRows(feed: HTMLElement): () => void {
  return held(feed, (target) => {
    if (target.closest('a, button, input, [data-selects]')) return false
    const at =
      target.closest('.l')?.querySelector<HTMLElement>('.n.acts') ??
      target.closest('[data-acts]')?.querySelector<HTMLElement>('.corner')
    at?.click()
    return at !== undefined && at !== null
  })
}

/** A finger that stays on the button that sends chooses when, if there is something to send. */
export function heldSend(
  app: Screens,
  button: HTMLElement,
  what: () => { busy: boolean; send: () => void; stopAndSend: () => void } | null,
): () => void {
  return held(button, () => {
    const now = what()
    if (!now) return false
    menu(button, t`Send`, [
      { name: now.busy ? t`Queue` : t`Send now`, icon: now.busy ? ListPlus : ArrowUp, act: () => now.send() },
      ...(now.busy ? [{ name: t`Stop and send`, icon: ArrowUpToLine, act: () => now.stopAndSend() }] : []),
      { name: t`Send later…`, icon: Clock, act: () => (app.overlay = 'schedule') },
      ...(app.state.hub?.scope === 'viewer'
        ? []
        : [{ name: t`Run in background…`, icon: Rocket, act: () => (app.overlay = 'background') }]),
    ])
    return true
  })
}
