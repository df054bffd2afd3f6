import { fileURLToPath } from 'node:url'

const app = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const session = fileURLToPath(new URL('../src/ui/session/Session.svelte', import.meta.url))

/**
 * Keeps what the app begins with in one piece, and what a session's screen is made of in another. Other screens share
 * parts of both; left to itself the bundler cuts a piece for each sharing, and a session costs a dozen small requests,
 * which compress badly.
 * @returns {import('vite').Rolldown.CodeSplittingOptions}
 */
export function sessionWhole() {
  /** @type {Set<string> | undefined} */
  let own
  /** @type {Set<string>} */
  let begun
  return {
    // Each has its own and no more.
    includeDependenciesRecursively: false,
    groups: [
      {
        debugName: 'the app and a session',
        // The screen itself is what the app names when it asks for one.
        name: (id, graph) => {
          if (!own) {
            begun = reached(app, graph)
            own = new Set([...reached(session, graph)].filter((part) => part !== session && !begun.has(part)))
          }
          return own.has(id) ? 'feed' : id !== app && begun.has(id) ? 'app' : null
        },
      },
    ],
  }
}

/**
 * The modules that one brings along without being asked again.
 * @param {string} from
 * @param {{ getModuleInfo(id: string): { importedIds: readonly string[] } | null }} graph
 */
function reached(from, graph) {
  const seen = new Set([from])
  for (const id of seen) for (const next of graph.getModuleInfo(id)?.importedIds ?? []) seen.add(next)
  return seen
}
