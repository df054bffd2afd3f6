import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { words } from './words.mjs'

/** The paths of the exported page's script and style, which the hub embeds. */
export const pageFile = fileURLToPath(new URL('../../session/export/player.js', import.meta.url))
export const styleFile = fileURLToPath(new URL('../../session/export/player.css', import.meta.url))

/**
 * Builds the exported page's script and style from src/page/page.ts. Each is one: the page's policy allows
 * exactly one script and one style, by their hashes.
 * @returns {Promise<{ script: string, style: string }>}
 */
export async function pageParts() {
  const built = await build({
    configFile: false,
    plugins: [words()],
    logLevel: 'error',
    build: {
      target: 'es2022',
      cssTarget: ['chrome123', 'firefox120', 'safari17.5'], // those with light-dark()
      write: false,
      lib: {
        entry: fileURLToPath(new URL('../src/page/page.ts', import.meta.url)),
        formats: ['iife'],
        name: 'page',
        cssFileName: 'page',
      },
    },
  })
  const [first] = Array.isArray(built) ? built : [built]
  const parts = first && 'output' in first ? first.output : []
  const script = parts.find((part) => part.type === 'chunk')?.code
  const style = parts.find((part) => part.type === 'asset')?.source
  if (parts.length !== 2 || script === undefined || typeof style !== 'string')
    throw new Error('the page is not one script and one style')
  if (/<\/?(script|style)/i.test(script + style))
    throw new Error('the script or the style would end its own element')
  return { script, style }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { script, style } = await pageParts()
  writeFileSync(pageFile, script)
  writeFileSync(styleFile, style)
}
