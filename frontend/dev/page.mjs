import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { words } from './words.mjs'

/** The path of the exported page's script, which the hub embeds. */
export const pageFile = fileURLToPath(new URL('../../session/export/player.js', import.meta.url))

/**
 * Builds the exported page's script from src/page/page.ts. It is one classic script: the page's policy
 * allows exactly one, by its hash.
 * @returns {Promise<string>}
 */
export async function pageScript() {
  const built = await build({
    configFile: false,
    plugins: [words()],
    logLevel: 'error',
    build: {
      target: 'es2022',
      write: false,
      lib: {
        entry: fileURLToPath(new URL('../src/page/page.ts', import.meta.url)),
        formats: ['iife'],
        name: 'page',
      },
    },
  })
  const [first] = Array.isArray(built) ? built : [built]
  const chunk = first && 'output' in first ? first.output[0] : undefined
  if (chunk?.type !== 'chunk' || first.output.length !== 1) throw new Error('the page is not one script')
  if (chunk.code.includes('</')) throw new Error('the script would end its own element')
  return chunk.code
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(pageFile, await pageScript())
