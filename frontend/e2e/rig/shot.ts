import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Screen } from './screen.ts'

const folder = process.env['ABIDE_SHOTS']

/** Keeps a picture where somebody wants to look at the screens a test comes by. */
export async function shot(screen: Screen, name: string): Promise<void> {
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await screen.page.screenshot({ path: join(folder, `${name}.png`) })
}
