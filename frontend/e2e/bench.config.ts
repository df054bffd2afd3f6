import { defineConfig } from 'vitest/config'
import { words } from '../dev/words.mjs'

export default defineConfig({
  plugins: [words()],
  test: {
    include: ['e2e/bench.ts'],
    environment: 'node',
    testTimeout: 600_000,
    hookTimeout: 60_000,
  },
})
