import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['e2e/screenshots.ts'],
    environment: 'node',
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
})
