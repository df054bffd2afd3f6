import { defineConfig } from 'vitest/config'

// One browser and one hub at a time: the tests stop and freeze whole processes.
export default defineConfig({
  test: {
    include: ['e2e/**/*.e2e.ts'],
    environment: 'node',
    fileParallelism: false,
    testTimeout: 90_000,
    hookTimeout: 60_000,
  },
})
