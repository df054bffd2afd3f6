// A vitest runner that leaves some tests to make soak (left.ts), and prints the evidence as soon as a test or a hook
// before it fails. Later hooks close the pages and stop the hub.
import { basename } from 'node:path'
import {
  TestRunner,
  type RunnerTask,
  type RunnerTestCase,
  type RunnerTestFile,
  type RunnerTestSuite,
} from 'vitest'
import { evidence } from './evidence.ts'
import { left, type Left } from './left.ts'

export default class extends TestRunner {
  private leaves: Left[] = []

  async onBeforeCollect(paths: string[]): Promise<void> {
    if (process.env['ABIDE_SOAK'] !== undefined || this.config.testNamePattern) return
    this.leaves = left.filter(({ file }) => paths.some((path) => basename(path) === `${file}.e2e.ts`))
    const names = this.leaves.map(({ tests }) => `(?!.*(?:${tests.source}))`)
    if (names.length > 0) this.config.testNamePattern = new RegExp(`^${names.join('')}`)
  }

  async onCollected(files: RunnerTestFile[]): Promise<void> {
    if (this.leaves.length > 0) delete this.config.testNamePattern // the next file may have the same configuration
    const tests = files.flatMap(allTests)
    for (const { file, tests: fit } of this.leaves) {
      if (!tests.some(({ fullTestName }) => fit.test(fullTestName.replaceAll(' > ', ' '))))
        throw new Error(`no test of ${file} fits ${String(fit)} in rig/left.ts`)
    }
  }

  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    await super.onBeforeRunSuite(suite)
    const hooks = TestRunner.getSuiteHooks(suite)
    hooks.beforeAll = hooks.beforeAll.map((hook) => async (...args) => {
      try {
        return await hook(...args)
      } catch (error) {
        await print(suite.name)
        throw error
      }
    })
  }

  async onTaskFinished(test: RunnerTestCase): Promise<void> {
    if (test.result?.state === 'fail') await print(test.name)
  }
}

function allTests(task: RunnerTask): RunnerTestCase[] {
  return task.type === 'test' ? [task] : task.tasks.flatMap(allTests)
}

async function print(what: string): Promise<void> {
  console.error(`what there is to see of "${what}":\n${await evidence()}`)
}
