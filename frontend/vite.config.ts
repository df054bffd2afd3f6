import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'
import { mockHub } from './dev/plugin.mjs'

// The hub serves the app under a policy without inline scripts, inline styles
// or data: scripts, so nothing may be inlined into the page.
export default defineConfig({
  plugins: [svelte(), mockHub()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: false,
    reportCompressedSize: false,
  },
  worker: { format: 'es' },
  test: {
    include: ['test/**/*.test.ts'],
    environment: 'node',
  },
})
