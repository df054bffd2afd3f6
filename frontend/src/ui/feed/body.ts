import type { Item } from '../../state/items'
import { ahead } from '../parts/ahead'

type Bodies = typeof import('./bodies')

const body =
  <T>(of: (bodies: Bodies) => T) =>
  async () => ({ default: of(await import('./bodies')) })

export const loadToolBody = body((all) => all.ToolBody)
export const loadTerminal = body((all) => all.Terminal)
export const loadContent = body((all) => all.Content)

const seldom =
  <T>(of: (parts: typeof import('./seldom')) => T) =>
  async () => ({ default: of(await import('./seldom')) })

export const loadJson = seldom((all) => all.Json)
export const loadLarge = seldom((all) => all.Large)
export const loadLargeDiff = seldom((all) => all.LargeDiff)
/** Whether some of these have a body. */
export function bodied(items: Iterable<Item>): boolean {
  for (const { kind } of items) if (kind === 'tool' || kind === 'terminal' || kind === 'content') return true
  return false
}

/**
 * Loads the bodies, so that each is there with its row: one that comes later moves what is read.
 * Never rejects: the rows say that they could not be loaded.
 */
export const loadBodies = () =>
  Promise.all([loadToolBody, loadTerminal, loadContent].map(ahead)).then(
    () => {},
    () => {},
  )
