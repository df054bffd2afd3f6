// The script of an exported page: plays a session that lies in the page, from the disk and with no network. The hub
// carries it built, in session/export/player.js (`npm run page`).
import { orderOf } from '../state/overview'
import { Pages, type Ask } from '../state/pages'
import { idleMs, Player } from '../state/player'
import { stretch } from '../text/time'
import type { AbideEvent, EventsLoadedMessage } from '../wire/gen'
import { cardOf } from './card'

/** Rows on the page at most: the newest. */
const mostRows = 500

const byId = <T extends HTMLElement>(id: string) => document.getElementById(id) as T
const lines = byId('events').textContent.split('\n').filter(Boolean)
const events = lines.map((line) => JSON.parse(line) as AbideEvent)
const [feed, at] = [byId('feed'), byId('at')]
const [play, loop] = [byId<HTMLButtonElement>('play'), byId<HTMLInputElement>('loop')]
const [seek, speed] = [byId<HTMLInputElement>('seek'), byId<HTMLSelectElement>('speed')]

const first = events[0]?.seq ?? 1
const last = events.at(-1)?.seq ?? 0
const never = new AbortController().signal

/** The hub's answers, from the page itself. */
const ask: Ask = (after, limit) =>
  Promise.resolve({
    type: 'events_loaded',
    session_id: '',
    verdict: 'ok',
    epoch: '',
    first_seq: after + 1,
    last_seq: Math.min(last, after + limit),
    min_seq: first,
    max_seq: last,
    has_more: after + limit < last,
    events: events.slice(after + 1 - first, after + 1 - first + limit),
  } as EventsLoadedMessage)

const player = new Player(new Pages(ask, '', first, Infinity), {
  epoch: '',
  min_seq: first,
  at_seq: last,
  from: events[0]?.time ?? '',
  to: events.at(-1)?.time ?? '',
  time: { bucket_ms: 1, events: [] },
  order: orderOf(events, idleMs),
  marks: [],
  turns: [],
})
let frame = 0
let then = 0
let left = 0

const cards = new Map<string, { item: object; node: HTMLElement | null }>()

/** Shows the place: only rows with changed items are made anew. */
function paint(): void {
  const shown: HTMLElement[] = []
  const keys = new Set<string>()
  for (const item of [...player.feed.items].slice(-mostRows)) {
    const known = cards.get(item.key)
    const card = known?.item === item ? known : { item, node: cardOf(item) }
    cards.set(item.key, card)
    keys.add(item.key)
    if (card.node) shown.push(card.node)
  }
  for (const key of cards.keys()) if (!keys.has(key)) cards.delete(key)
  const stick = innerHeight + scrollY >= document.body.scrollHeight - 80
  feed.replaceChildren(...shown)
  if (stick) scrollTo(0, document.body.scrollHeight)
  const { seq } = player
  const gap = frame !== 0 ? (player.gap() ?? 0) : 0
  const idle = gap > idleMs ? t` · nothing for ${stretch(gap)}` : ''
  seek.value = String(seq)
  at.textContent = last > 0 ? t`${seq < first ? 0 : seq} of ${last}${idle}` : ''
  document.documentElement.dataset['seq'] = String(seq < first ? 0 : seq)
}

async function go(to: number): Promise<void> {
  stop()
  await player.seek(Math.max(first - 1, Math.min(last, to)), never)
  paint()
}

function stop(): void {
  cancelAnimationFrame(frame)
  frame = 0
  play.textContent = t`Play`
}

async function toggle(): Promise<void> {
  if (frame !== 0) {
    stop()
    return paint()
  }
  if (player.seq >= last) await player.seek(first - 1, never)
  play.textContent = t`Pause`
  then = performance.now()
  left = 0
  frame = requestAnimationFrame(tick)
}

async function tick(now: number): Promise<void> {
  await player.ahead(last, never)
  if (frame === 0) return
  left += Math.min(250, now - then) * Number(speed.value)
  then = now
  left = player.advance(left, last)
  if (player.seq >= last) {
    stop()
    paint()
    if (loop.checked && last > 0) await toggle()
    return
  }
  paint()
  frame = requestAnimationFrame(tick)
}

function pressed(key: string): boolean {
  const tenth = (last - first + 1) / 10
  if (key === ' ' || key === 'k') void toggle()
  else if (key === ',' || key === 'ArrowLeft') void go(player.seq - 1)
  else if (key === '.' || key === 'ArrowRight') void go(player.seq + 1)
  else if (key === 'Home') void go(first - 1)
  else if (key === 'End') void go(last)
  else if (/^[0-9]$/.test(key)) void go(first - 1 + Math.round(tenth * Number(key)))
  else return false
  return true
}

play.addEventListener('click', () => void toggle())
seek.min = String(first - 1)
seek.max = String(last)
seek.addEventListener('input', () => void go(Number(seek.value)))
addEventListener('keydown', (e) => {
  const { target } = e
  if (target instanceof HTMLButtonElement || target instanceof HTMLSelectElement) return
  if (e.ctrlKey || e.metaKey || e.altKey || (target === loop && e.key === ' ')) return
  if (pressed(e.key)) e.preventDefault()
})
void go(last)
