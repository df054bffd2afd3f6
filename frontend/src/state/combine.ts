import { grownBy } from './grown'
import type { Item, ToolItem } from './items'

/** Bytes of one terminal's output the app keeps; older output is cut away. */
const terminalKept = 256 * 1024

/**
 * Returns one item made of two with the same key, `later` after `earlier`. It
 * is associative: combining in any grouping gives the same item.
 */
export function combine(earlier: Item, later: Item): Item {
  const head = {
    last: Math.max(earlier.last, later.last),
    until: later.until,
    ...(earlier.unverified || later.unverified ? { unverified: true } : {}),
  }
  switch (earlier.kind) {
    case 'text':
      if (later.kind !== 'text') break
      return { ...earlier, ...head, text: earlier.text + later.text, blobs: both(earlier.blobs, later.blobs) }
    case 'tool':
      if (later.kind !== 'tool') break
      return {
        ...earlier,
        ...head,
        title: later.title ?? earlier.title,
        toolKind: later.toolKind ?? earlier.toolKind,
        status: later.status ?? earlier.status,
        ...contentOf(earlier, later),
        diffs: later.diffs ?? earlier.diffs,
        locations: later.locations ?? earlier.locations,
        rawInput: later.rawInput ?? earlier.rawInput,
        ...outputOf(earlier, later),
        synthetic: later.synthetic ?? earlier.synthetic,
        parent: earlier.parent ?? later.parent,
      }
    case 'plan':
      if (later.kind !== 'plan') break
      return { ...earlier, ...head, entries: later.entries }
    case 'permission':
      if (later.kind !== 'permission') break
      // Every request has exactly one outcome; the first counts.
      return { ...earlier, ...head, ask: earlier.ask ?? later.ask, outcome: earlier.outcome ?? later.outcome }
    case 'terminal':
      if (later.kind !== 'terminal') break
      return {
        ...earlier,
        ...head,
        output: (earlier.output + later.output).slice(-terminalKept),
        exit: later.exit ?? earlier.exit,
      }
  }
  return { ...earlier, last: head.last }
}

/** A new content replaces the former one; without it, its text may only have grown. */
function contentOf(earlier: ToolItem, later: ToolItem): Pick<ToolItem, 'content' | 'grown'> {
  if (later.content !== undefined) return { content: later.content, grown: later.grown }
  const grown = grownBy(earlier.grown, later.grown)
  return { content: earlier.content, ...(grown && { grown }) }
}

function outputOf(earlier: ToolItem, later: ToolItem): Pick<ToolItem, 'rawOutput' | 'outputGrown'> {
  if (later.rawOutput !== undefined) return { rawOutput: later.rawOutput, outputGrown: later.outputGrown }
  const outputGrown = grownBy(earlier.outputGrown, later.outputGrown)
  return { rawOutput: earlier.rawOutput, ...(outputGrown && { outputGrown }) }
}

function both<T>(a: readonly T[], b: readonly T[]): readonly T[] {
  return b.length === 0 ? a : [...a, ...b]
}
