import { availableParallelism } from 'node:os'
import { basename } from 'node:path'
import { defineConfig } from 'vitest/config'
import { words } from '../dev/words.mjs'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The longest files begin first, so that none is left to one worker alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const long = ['catalogue', 'menu', 'restart', 'hostile', 'matrix', 'keys', 'axe', 'wake', 'record'].map(
      (name) => `${name}.e2e.ts`,
    )
    const rank = (file: TestSpecification) => long.indexOf(basename(file.moduleId)) + 1 || 99
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

// Two workers run the files side by side, where there is a second processor. The files of a worker follow each
// other in one process and share its browsers (rig/browser.ts). The time limits are for machines many times
// slower than a developer's: none of them is a goal.
export default defineConfig({
  plugins: [words()],
  test: {
    include: ['e2e/**/*.e2e.ts'],
    setupFiles: ['test/support/seed.ts'],
    environment: 'node',
    isolate: false,
    maxWorkers: Math.min(2, availableParallelism()),
    sequence: { sequencer: LongestFirst },
    runner: './e2e/rig/runner.ts',
    // All lanes of the wake matrix go at once, of which five would.
    maxConcurrency: 8,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
