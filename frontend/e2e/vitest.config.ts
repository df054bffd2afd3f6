import { availableParallelism } from 'node:os'
import { basename } from 'node:path'
import { defineConfig } from 'vitest/config'
import { words } from '../dev/words.mjs'
import { BaseSequencer, type Reporter, type TestModule, type TestSpecification } from 'vitest/node'
import { left, leftFiles } from './rig/left.ts'

/** Runs the longest files first, so that the workers finish at about the same time. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const names = [
      ...['catalogue', 'resume', 'question', 'jobs', 'hostile', 'notifications', 'restart', 'keys', 'search'],
      ...['files', 'menu', 'start', 'moves', 'load', 'machines', 'people', 'stalled', 'newsession', 'play'],
    ]
    const long = names.map((name) => `${name}.e2e.ts`)
    const rank = (file: TestSpecification) => long.indexOf(basename(file.moduleId)) + 1 || 99
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

const soak = process.env['ABIDE_SOAK'] !== undefined

/** Ends the run with the number of tests that were skipped because rig/left.ts leaves them to make soak. */
const counted: Reporter = {
  onTestRunEnd(modules: readonly TestModule[]) {
    const those = modules.filter(({ moduleId }) =>
      left.some(({ file }) => `${file}.e2e.ts` === basename(moduleId)),
    )
    const tests = those.flatMap(({ children }) => [...children.allTests('skipped')])
    console.log(`left to make soak: ${tests.length} end-to-end tests, and the files ${leftFiles.join(', ')}`)
  },
}

// One more worker than processors: in a good part of its time a test waits for the app, the hub or a clock. The files of a
// worker run one after the other in one process and share its browsers (rig/browser.ts). The time limits allow for
// machines many times slower than a developer's. They are not goals.
export default defineConfig({
  plugins: [words()],
  test: {
    include: ['e2e/**/*.e2e.ts'],
    exclude: soak ? [] : leftFiles.map((name) => `e2e/${name}.e2e.ts`),
    setupFiles: ['test/support/seed.ts'],
    environment: 'node',
    isolate: false,
    maxWorkers: Math.min(2, availableParallelism()) + 1,
    sequence: { sequencer: LongestFirst },
    reporters: soak ? ['default'] : ['default', counted],
    runner: './e2e/rig/runner.ts',
    // All lanes of the wake matrix run concurrently; the default limit is five.
    maxConcurrency: 8,
    expect: { poll: { timeout: 60_000 } },
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
