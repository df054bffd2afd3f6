import { find, type Feed } from './feed'
import type { ToolItem } from './items'
import { toolKey } from './itemof'

/** A person's answer to the request of a call. */
export interface Verdict {
  /** Its newest answer was no: the proposed action was not allowed. */
  readonly rejected: boolean
  /** How long it waited for answers, in ms. */
  readonly waited: number
  /** Its newest question was withdrawn without an answer. */
  readonly unanswered: boolean
}

/** The keys of the requests about each call, by the call's key; the same for as long as a feed finds the same. */
const made = new WeakMap<Feed['keyed'], ReadonlyMap<string, readonly string[]>>()

export function verdictOn(feed: Feed, call: ToolItem): Verdict {
  let rejected = false
  let waited = 0
  let unanswered = false
  for (const key of requestsIn(feed).get(call.key) ?? []) {
    const { ask, outcome, time, until } = find(feed, 'permission', key)!
    if (!ask || !outcome) continue
    waited += Date.parse(until) - Date.parse(time)
    const chosen = ask.options.find((o) => o.option_id === outcome.option_id)
    if (chosen) rejected = chosen.kind.startsWith('reject')
    unanswered = outcome.outcome === 'cancelled'
  }
  return { rejected, waited, unanswered }
}

/** Whether a call was carried out: it ended well, and was not rejected. */
export function wasDone(feed: Feed, call: ToolItem): boolean {
  return call.status === 'completed' && !verdictOn(feed, call).rejected
}

function requestsIn(feed: Feed): ReadonlyMap<string, readonly string[]> {
  const known = made.get(feed.keyed)
  if (known) return known
  const requests = new Map<string, string[]>()
  for (const key of feed.keyed.keys()) {
    const item = key.startsWith('permission:') && find(feed, 'permission', key)
    if (!item || !item.ask?.toolCallId) continue
    const call = toolKey(item.turn, item.ask.toolCallId)
    requests.set(call, [...(requests.get(call) ?? []), key])
  }
  made.set(feed.keyed, requests)
  return requests
}
