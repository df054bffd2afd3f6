import { find, type Feed } from '../../state/feed'
import { terminalKey } from '../../state/itemof'
import type { ToolView } from '../../state/tool'

/** How a command ended: its exit code, else the signal; null where none is known or nothing was run. */
export function exitOf(tool: ToolView, turn: number, feed: Feed): number | string | null {
  for (const id of tool.terminals) {
    const exit = find(feed, 'terminal', terminalKey(turn, id))?.exit
    if (exit) return exit.code ?? exit.signal ?? null
  }
  // Other tools call other things a code.
  return tool.command !== null || tool.kind === 'execute' ? tool.exitCode : null
}
