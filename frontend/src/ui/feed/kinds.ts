import Arrow from '@lucide/svelte/icons/arrow-right-left'
import FileText from '@lucide/svelte/icons/file-text'
import Globe from '@lucide/svelte/icons/globe'
import Lightbulb from '@lucide/svelte/icons/lightbulb'
import Pencil from '@lucide/svelte/icons/pencil'
import Search from '@lucide/svelte/icons/search'
import Shuffle from '@lucide/svelte/icons/shuffle'
import SquareTerminal from '@lucide/svelte/icons/square-terminal'
import Trash from '@lucide/svelte/icons/trash-2'
import Wrench from '@lucide/svelte/icons/wrench'
import { own } from '../../state/own'
import type { ToolKind } from '../../wire/gen'

/** The icon of each kind of tool call, and the kind in a word. */
export const kinds: Record<ToolKind, { icon: typeof Wrench; word: string }> = {
  read: { icon: FileText, word: t`Read` },
  edit: { icon: Pencil, word: t`Edit` },
  delete: { icon: Trash, word: t`Delete` },
  move: { icon: Arrow, word: t`Move` },
  search: { icon: Search, word: t`Search` },
  execute: { icon: SquareTerminal, word: t`Command` },
  think: { icon: Lightbulb, word: t`Think` },
  fetch: { icon: Globe, word: t`Fetch` },
  switch_mode: { icon: Shuffle, word: t`Mode` },
  other: { icon: Wrench, word: t`Tool` },
}

/** The icon and word of a kind; an unknown kind has those of "other". */
export function kindOf(kind: ToolKind): { icon: typeof Wrench; word: string } {
  return own(kinds, kind) ?? kinds.other
}
