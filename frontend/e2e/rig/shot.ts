import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Screen } from './screen.ts'

const folder = process.env['ABIDE_SHOTS']

/** Keeps a picture where the screens of a test are to be looked at. */
export async function shot(screen: Screen, name: string): Promise<void> {
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await screen.page.screenshot({ path: join(folder, `${name}.png`) })
}
