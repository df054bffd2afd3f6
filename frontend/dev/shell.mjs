import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { saying, wordsIn, workerFile } from './words.mjs'

/**
 * Writes sw.js: the service worker with the list of files it caches and a
 * version, which is a hash of their contents.
 * @returns {import('vite').Plugin}
 */
export function serviceWorker() {
  let mode = ''
  return {
    name: 'abide-service-worker',
    enforce: 'post',
    apply: 'build',
    configResolved(config) {
      mode = config.mode
    },
    generateBundle(_, bundle) {
      const kept = {
        'first.js': readFileSync('public/first.js'),
        'manifest.webmanifest': readFileSync('public/manifest.webmanifest'),
      }
      for (const icon of readdirSync('public/icons'))
        kept[`icons/${icon}`] = readFileSync(`public/icons/${icon}`)
      for (const [file, made] of Object.entries(bundle)) kept[file] = 'code' in made ? made.code : made.source
      const page = kept['index.html'] ?? ''
      delete kept['index.html']
      const hash = createHash('sha256').update(page)
      for (const file of Object.keys(kept).sort()) hash.update(file).update(kept[file])
      const files = [
        '/',
        ...Object.keys(kept)
          .sort()
          .map((file) => `/${file}`),
      ]
      const worker = wordsIn(readFileSync(workerFile, 'utf8'), 'sw.ts').written(saying(mode))
      const source = worker.replace(
        '/* global FILES, VERSION */',
        `const FILES = ${JSON.stringify(files)}\nconst VERSION = '${hash.digest('hex').slice(0, 16)}'`,
      )
      this.emitFile({ type: 'asset', fileName: 'sw.js', source })
    },
  }
}
