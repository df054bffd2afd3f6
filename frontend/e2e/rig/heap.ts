// The size of a page's heap.
import type { CDPSession, Page } from 'playwright-core'

interface Snapshot {
  snapshot: { meta: { node_fields: string[]; node_types: [string[], ...unknown[]] } }
  nodes: number[]
}

/**
 * Heap nodes that are not objects of the page: strings, and compiled code with its shapes, which
 * the browser adds and drops at any time.
 */
const notObjects = ['code', 'object shape', 'string', 'concatenated string', 'sliced string', 'hidden']

/** The size of the page's heap in bytes, after a garbage collection. */
export function usedBytes(page: Page): Promise<number> {
  return profiled(page, async (cdp) => (await cdp.send('Runtime.getHeapUsage')).usedSize)
}

/** The size of the objects in the page's heap in bytes, without strings and code. */
export function objectBytes(page: Page): Promise<number> {
  return profiled(page, async (cdp) => {
    const chunks: string[] = []
    cdp.on('HeapProfiler.addHeapSnapshotChunk', ({ chunk }) => chunks.push(chunk))
    await cdp.send('HeapProfiler.takeHeapSnapshot', {})
    const { snapshot, nodes } = JSON.parse(chunks.join('')) as Snapshot
    const { node_fields: fields, node_types: types } = snapshot.meta
    const type = fields.indexOf('type')
    const size = fields.indexOf('self_size')
    let sum = 0
    for (let at = 0; at < nodes.length; at += fields.length) {
      if (!notObjects.includes(types[0][nodes[at + type]!]!)) sum += nodes[at + size]!
    }
    return sum
  })
}

async function profiled(page: Page, read: (cdp: CDPSession) => Promise<number>): Promise<number> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('HeapProfiler.enable')
  await cdp.send('HeapProfiler.collectGarbage')
  const bytes = await read(cdp)
  await cdp.detach()
  return bytes
}
