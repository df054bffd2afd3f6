import { availableParallelism } from 'node:os'
import { basename } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What takes longest begins first, so that nothing is left over for one worker alone. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const long = ['matrix', 'catalogue', 'axe', 'wake', 'restart'].map((name) => `${name}.e2e.ts`)
    const rank = (file: TestSpecification) => long.indexOf(basename(file.moduleId)) + 1 || 99
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

// Files share nothing: each has its own hubs and browsers, which it may stop and freeze. Most of
// the time they wait, so two go side by side where there is a second processor. The bounds
// are for machines many times slower than a developer's: none of them is a goal.
export default defineConfig({
  test: {
    include: ['e2e/**/*.e2e.ts'],
    environment: 'node',
    maxWorkers: Math.min(2, availableParallelism()),
    sequence: { sequencer: LongestFirst },
    runner: './e2e/rig/runner.ts',
    // All lanes of the wake matrix go at once, of which five would.
    maxConcurrency: 8,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
