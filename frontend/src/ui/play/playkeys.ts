import { takesText } from '../keys'
import type { Deck } from './deck.svelte'

/** Every key of the player, as in video players, in the order of its help. */
export const playKeys: readonly { keys: string; does: string }[] = [
  { keys: 'Space k', does: t`play or pause` },
  { keys: '← →', does: t`Skip 5 s (Shift: 10 %)` },
  { keys: ', .', does: t`Previous/next event` },
  { keys: 'p n', does: t`Previous/next tool call` },
  { keys: '[ ]', does: t`Previous/next marker` },
  { keys: '{ }', does: t`Previous/next turn` },
  { keys: '< >', does: t`slower or faster` },
  { keys: '0–9', does: t`to a tenth of the timeline` },
  { keys: 'Home End', does: t`to the first or the last event` },
  { keys: 'l', does: t`to the live edge` },
  { keys: 'r', does: t`repeat: at the end, begin again` },
  { keys: 'c', does: t`copy a link to this moment` },
]

/** Carries out a key press on the player; false if it asks for nothing. */
export function pressed(deck: Deck, event: KeyboardEvent, copy: () => void): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return false
  const { target, key } = event
  const slider = target instanceof HTMLInputElement && target.type === 'range'
  if (!slider && takesText(target)) return false
  // Space presses a focused button.
  if (key === ' ' && target instanceof Element && target.closest('button, a, summary')) return false
  const tenth = (deck.last - deck.first) / 10
  if (/^[0-9]$/.test(key)) return did(deck.seek(Math.round(deck.first + tenth * Number(key))))
  switch (key) {
    case ' ':
    case 'k':
      return did(deck.toggle())
    case 'ArrowLeft':
    case 'ArrowRight': {
      const by = key === 'ArrowRight' ? 1 : -1
      return did(event.shiftKey ? deck.seek(Math.round(deck.seq + by * tenth)) : deck.skip(by * 5_000))
    }
    case ',':
      return did(deck.step('event', -1))
    case '.':
      return did(deck.step('event', 1))
    case 'p':
      return did(deck.step('tool', -1))
    case 'n':
      return did(deck.step('tool', 1))
    case '[':
      return did(deck.step('mark', -1))
    case ']':
      return did(deck.step('mark', 1))
    case '{':
      return did(deck.step('turn', -1))
    case '}':
      return did(deck.step('turn', 1))
    case '<':
      return did(deck.faster(-1))
    case '>':
      return did(deck.faster(1))
    case 'l':
      return did(deck.toLive())
    case 'r':
      return did((deck.loop = !deck.loop))
    case 'Home':
      return did(deck.seek(deck.first))
    case 'End':
      return did(deck.seek(deck.last))
    case 'c':
      return did(copy())
    default:
      return false
  }
}

function did(_: unknown): true {
  return true
}
