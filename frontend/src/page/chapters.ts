import type { Feed } from '../state/feed'
import { textOf, type PromptItem, type TurnEndItem } from '../state/items'
import { toolView } from '../state/tool'
import { actorName } from '../text/actor'
import { duration } from '../text/time'
import { endedHow } from '../ui/feed/ended'
import type { Mark, MarkKind, Seq } from '../wire/gen'

/** A turn: where it begins, and how it ended. */
export interface Chapter {
  seq: Seq
  turn: number
  key: string
  prompt: string
  how: string
  bad: boolean
}

/** The turns of a whole session, in order. */
export function chaptersOf(feed: Feed): Chapter[] {
  const ends = new Map<string, TurnEndItem>()
  const prompts: PromptItem[] = []
  for (const item of feed.items) {
    if (item.kind === 'turn_end') ends.set(item.promptId, item)
    if (item.kind === 'prompt') prompts.push(item)
  }
  return prompts.map(({ seq, turn, key, text, promptId, time }) => {
    const end = ends.get(promptId)
    const how = end
      ? [endedHow(end, end.by && actorName(end.by)), duration(Date.parse(end.time) - Date.parse(time))]
      : []
    const bad = !!end && end.stopReason !== 'end_turn' && end.stopReason !== 'cancelled'
    return { seq, turn, key, prompt: firstLine(text), how: how.join(' · ') || t`not finished`, bad }
  })
}

/** The places worth going to. */
export function marksOf(feed: Feed): Mark[] {
  const marks: Mark[] = []
  const add = (seq: Seq, kind: MarkKind, label = '') => marks.push({ seq, kind, label })
  for (const item of feed.items) {
    if (item.kind === 'prompt') add(item.seq, 'prompt', firstLine(item.text))
    else if (item.kind === 'permission') add(item.seq, 'question', item.ask?.title)
    else if (item.kind === 'turn_end' && item.error) add(item.seq, 'error', textOf(item.error.message).text)
    else if (item.kind === 'event' && item.event.type === 'error') add(item.seq, 'error')
    else if (item.kind === 'tool') {
      const view = toolView(item)
      if (view.changes.length > 0) add(item.seq, 'edit', view.title)
      else if (view.command !== null) add(item.seq, 'command', view.command)
    }
  }
  return marks
}

const firstLine = (text: string) => text.trim().split('\n', 1)[0]!.slice(0, 200)
