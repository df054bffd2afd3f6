import { defineConfig } from 'vitest/config'
import { words } from '../dev/words.mjs'

export default defineConfig({
  plugins: [words()],
  test: {
    include: ['e2e/screenshots.ts'],
    environment: 'node',
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
})
