// The script of an exported page: shows and plays a session that lies in the page, from the disk and with no network.
// The hub carries it built, in session/export/player.js, and its style in player.css (`npm run page`).
import '../ui/theme.css'
import '../ui/prose.css'
import './page.css'
import { after, emptyFeed } from '../state/feed'
import { orderOf } from '../state/overview'
import { Pages, type Ask } from '../state/pages'
import { idleMs, Player } from '../state/player'
import { counted } from '../text/counted'
import { stretch } from '../text/time'
import { markWords, shapes } from '../ui/play/marks'
import type { AbideEvent, EventsLoadedMessage, MarkKind, Overview } from '../wire/gen'
import { cardOf, element, type Card } from './card'
import { chaptersOf, marksOf, type Chapter } from './chapters'

/** Rows on the page at most, and how many more "Show more" adds. */
const mostRows = 500

const byId = <T extends Element = HTMLElement>(id: string) => document.getElementById(id) as unknown as T
const lines = byId('events').textContent.split('\n').filter(Boolean)
const events = lines.map((line) => JSON.parse(line) as AbideEvent)
const [feed, at, more] = [byId('feed'), byId('at'), byId<HTMLButtonElement>('more')]
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

const whole = after(emptyFeed(first - 1), events)
const chapters = chaptersOf(whole)
const overview: Overview = {
  epoch: '',
  min_seq: first,
  at_seq: last,
  from: events[0]?.time ?? '',
  to: events.at(-1)?.time ?? '',
  time: { bucket_ms: 1, events: [] },
  order: orderOf(events, idleMs),
  marks: marksOf(whole),
  turns: [],
}
const player = new Player(new Pages(ask, '', first, Infinity), overview)
let frame = 0
let then = 0
let left = 0
/** All rows are there to be read, until something is played. */
let reading = true
let rows = mostRows

let cards = new Map<string, Card>()

/** Shows the place: only rows with changed items are made anew. */
function paint(): void {
  const items = [...(reading ? whole : player.feed).items]
  const shown: HTMLElement[] = []
  const kept = new Map<string, Card>()
  for (const item of reading ? items.slice(0, rows) : items.slice(-mostRows)) {
    const known = cards.get(item.key)
    const card = known?.item === item ? known : cardOf(item, known)
    kept.set(item.key, card)
    if (!card.node) continue
    card.node.id = `row-${item.key}`
    shown.push(card.node)
  }
  cards = kept
  more.hidden = !reading || items.length <= rows
  const stick = !reading && innerHeight + scrollY >= document.body.scrollHeight - 80
  feed.replaceChildren(...shown)
  if (stick) scrollTo(0, document.body.scrollHeight)
  tell()
}

/** Says where the place is. */
function tell(): void {
  const { seq } = player
  const gap = frame !== 0 ? (player.gap() ?? 0) : 0
  const idle = gap > idleMs ? t` · nothing for ${stretch(gap)}` : ''
  seek.value = String(seq)
  at.textContent = last > 0 ? t`${seq < first ? 0 : seq} of ${last}${idle}` : ''
  document.documentElement.dataset['seq'] = String(seq < first ? 0 : seq)
  const now = chapters.findLast((chapter) => chapter.seq <= seq)
  for (const chapter of chapters) {
    const link = byId(`turn-${chapter.seq}`)
    if (chapter === now) link.setAttribute('aria-current', 'step')
    else link.removeAttribute('aria-current')
  }
}

async function go(to: number): Promise<void> {
  stop()
  reading = false
  await player.seek(Math.max(first - 1, Math.min(last, to)), never)
  paint()
}

/** Goes to a turn among all rows. */
async function read({ seq, key }: Chapter): Promise<void> {
  stop()
  reading = true
  const index = [...whole.items].findIndex((item) => item.key === key)
  while (index >= rows) rows += mostRows
  await player.seek(seq, never)
  paint()
  byId(`row-${key}`)?.scrollIntoView()
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
  reading = false
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

/** Draws the marks above the slider, as wide as it is. */
function draw(): void {
  const svg = byId<SVGElement>('marks')
  const width = svg.clientWidth
  const paths = (Object.keys(markWords) as MarkKind[]).map((kind) => {
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path')
    path.setAttribute('class', kind)
    path.setAttribute('d', shapes(overview, kind, last, 'event', width, 24))
    return path
  })
  svg.replaceChildren(...paths)
}

function begin(): void {
  const began = new Date(overview.from)
  const when = last > 0 ? began.toLocaleString(undefined, { dateStyle: 'long', timeStyle: 'short' }) : ''
  const took = stretch(Date.parse(overview.to) - Date.parse(overview.from))
  byId('about').append(` · ${[when, counted(chapters.length, t`turn`, t`turns`), took].join(' · ')}`)
  const turns = byId<HTMLDetailsElement>('turns')
  turns.open = matchMedia('(min-width: 1100px)').matches
  byId('chapters').append(
    ...chapters.map((chapter) => {
      const how = element('small', chapter.bad ? 'bad' : 'faint', t`Turn ${chapter.turn} · ${chapter.how}`)
      const link = element('button', '', element('span', 'clamp', chapter.prompt || t`No text`), how)
      link.type = 'button'
      link.id = `turn-${chapter.seq}`
      link.addEventListener('click', () => {
        if (!matchMedia('(min-width: 1100px)').matches) turns.open = false
        void read(chapter)
      })
      return element('li', '', link)
    }),
  )
  turns.hidden = chapters.length === 0
}

play.addEventListener('click', () => void toggle())
more.addEventListener('click', () => {
  rows += mostRows
  paint()
})
seek.min = String(first - 1)
seek.max = String(last)
seek.addEventListener('input', () => void go(Number(seek.value)))
addEventListener('resize', draw)
addEventListener('keydown', (e) => {
  const target = e.target as Element
  const typed = e.key === ' ' && target.matches('button, summary, a, input[type=checkbox]')
  if (target.matches('select') || typed || e.ctrlKey || e.metaKey || e.altKey) return
  // A box that scrolls sideways keeps its keys.
  if (e.key.startsWith('Arrow') && target.matches('pre, .diff, .table')) return
  if (pressed(e.key)) e.preventDefault()
})
begin()
draw()
void player.seek(chapters[0]?.seq ?? last, never).then(paint)
