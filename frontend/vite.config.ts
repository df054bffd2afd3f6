import { rmSync } from 'node:fs'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'
import { sessionAhead } from './dev/ahead.mjs'
import { sessionWhole } from './dev/parts.mjs'
import { icons } from './dev/icons.mjs'
import { mounted } from './dev/mounted.mjs'
import { mockHub } from './dev/plugin.mjs'
import { serviceWorker } from './dev/shell.mjs'
import { words } from './dev/words.mjs'

// The hub serves the app under a policy without inline scripts, inline styles
// or data: scripts, so nothing may be inlined into the page.
export default defineConfig({
  plugins: [words(), icons(), mounted(), svelte(), mockHub(), freshAssets(), sessionAhead(), serviceWorker()],
  // The catalogue reads the golden frames of the hub's own tests.
  server: { fs: { allow: ['..'] } },
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    // A part asks for its styles by name. The scripts it shares with others it finds out itself,
    // once; their names would make the first load larger.
    modulePreload: {
      polyfill: false,
      resolveDependencies: (_, parts, { hostType }) =>
        hostType === 'js' ? parts.filter((part) => part.endsWith('.css')) : parts,
    },
    emptyOutDir: false,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: sessionWhole(),
        // The app names each of its parts: a hash that tells two versions of one part apart is
        // enough.
        entryFileNames: 'assets/[name]-[hash:7].js',
        chunkFileNames: 'assets/[name]-[hash:7].js',
        assetFileNames: 'assets/[name]-[hash:7][extname]',
      },
      checks: { bundlerTimings: false },
    },
  },
  worker: { format: 'es' },
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/seed.ts'],
    environment: 'node',
    // The property tests run hundreds of cases, also on a busy machine.
    testTimeout: 30_000,
    expect: { poll: { timeout: 20_000 } },
  },
})

/** Removes the files of an earlier build, but not the committed placeholder beside them. */
function freshAssets(): Plugin {
  return {
    name: 'abide-fresh-assets',
    apply: 'build',
    configResolved: ({ build }) => rmSync(`${build.outDir}/assets`, { recursive: true, force: true }),
  }
}
