// A vitest runner that prints the evidence as soon as a test or a hook before it fails. Later hooks
// close the pages and stop the hub.
import { TestRunner, type RunnerTestCase, type RunnerTestSuite } from 'vitest'
import { evidence } from './evidence.ts'

export default class extends TestRunner {
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

async function print(what: string): Promise<void> {
  console.error(`what there is to see of "${what}":\n${await evidence()}`)
}
