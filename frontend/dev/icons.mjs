import { fileURLToPath } from 'node:url'

const own = fileURLToPath(new URL('../src/ui/parts/Icon.svelte', import.meta.url))

/**
 * Lets the app's own small component draw the icons of Lucide.
 * @returns {import('vite').Plugin}
 */
export function icons() {
  return {
    name: 'abide-icons',
    enforce: 'pre',
    resolveId: (source, importer) =>
      source === '../Icon.svelte' && importer?.includes('/@lucide/svelte/') ? own : null,
  }
}
