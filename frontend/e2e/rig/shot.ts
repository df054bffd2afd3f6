import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Screen } from './screen.ts'

const folder = process.env['ABIDE_SHOTS']

/** Saves a screenshot if ABIDE_SHOTS names a folder. */
export async function shot(screen: Screen, name: string): Promise<void> {
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await screen.page.screenshot({ path: join(folder, `${name}.png`) })
}
