import { mount, unmount } from 'svelte'
import Archive from '@lucide/svelte/icons/archive'
import CircleHelp from '@lucide/svelte/icons/circle-question-mark'
import Pin from '@lucide/svelte/icons/pin'
import type { Screens } from '../app.svelte'
import { Deeds } from './deeds'
import { swipes, type Way } from './swipe'
import Swiped from './Swiped.svelte'

/** A finger draws a row to the left to archive it, to the right to pin it; beside the row it says so. */
export function swiping(list: HTMLElement, app: Screens): () => void {
  const deeds = new Deeds(app)
  const meant = (id: string, way: Way) => {
    const of = app.state.list?.get(id)
    if (!of) return null
    if (way === 'right') return { name: of.pinned ? t`Unpin` : t`Pin`, icon: Pin, act: () => deeds.pin(of) }
    // A question is not put away by a slip of the finger; the row's menu does it.
    if (of.status === 'needs_you' && !of.archived)
      return { name: t`Needs your answer`, icon: CircleHelp, act: null }
    return {
      name: of.archived ? t`Unarchive` : t`Archive`,
      icon: Archive,
      act: () => deeds.archive([of]),
    }
  }
  let strip: Record<string, unknown> | undefined
  return swipes(
    list,
    (id, way) => void meant(id, way)?.act?.(),
    (row, way) => {
      if (strip) void unmount(strip)
      const what = way && meant(row.dataset['row']!, way)
      strip = what
        ? mount(Swiped, { target: row, props: { name: what.name, icon: what.icon, way } })
        : undefined
    },
  )
}
