import { fileURLToPath } from 'node:url'

const app = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const session = fileURLToPath(new URL('../src/ui/session/Session.svelte', import.meta.url))
const acts = fileURLToPath(new URL('../src/ui/list/acts.ts', import.meta.url))

/**
 * Bundles the modules of the start into one chunk, and the modules of the session screen into another. Other screens
 * share modules of both. What the list's acts share with the session is a chunk of its own, so that the list does not
 * load the session's. Without these groups the bundler makes a chunk for each combination of sharing screens, so a
 * session costs a dozen small requests, which compress badly.
 * @returns {import('vite').Rolldown.CodeSplittingOptions}
 */
export function sessionWhole() {
  /** @type {Set<string> | undefined} */
  let own
  /** @type {Set<string>} */
  let begun
  /** @type {Set<string>} */
  let listed
  return {
    // `name` below decides for each module; a group does not pull in its imports.
    includeDependenciesRecursively: false,
    groups: [
      {
        debugName: 'the app and a session',
        // Session.svelte stays outside the group: the app imports it dynamically, so it is an entry of its own.
        name: (id, graph) => {
          if (!own) {
            begun = reached(app, graph)
            listed = reached(acts, graph)
            own = new Set([...reached(session, graph)].filter((part) => part !== session && !begun.has(part)))
          }
          if (own.has(id)) return listed.has(id) ? 'both' : 'feed'
          return id !== app && begun.has(id) ? 'app' : null
        },
      },
    ],
  }
}

/**
 * The modules that `from` imports statically, directly or through others, and `from` itself.
 * @param {string} from
 * @param {{ getModuleInfo(id: string): { importedIds: readonly string[] } | null }} graph
 */
function reached(from, graph) {
  const seen = new Set([from])
  for (const id of seen) for (const next of graph.getModuleInfo(id)?.importedIds ?? []) seen.add(next)
  return seen
}
