const variable = 'export let hydrating = false;'
const setter = /(export function set_hydrating\(value\) \{)\s*hydrating = value;\s*\}/

/**
 * Tells Svelte that no page comes with components already in it, so the bundler leaves out the code
 * that would take them over.
 * @returns {import('vite').Plugin}
 */
export function mounted() {
  return {
    name: 'abide-mounted',
    enforce: 'pre',
    apply: 'build',
    transform(code, id) {
      if (!id.endsWith('/svelte/src/internal/client/dom/hydration.js')) return
      if (!code.includes(variable) || !setter.test(code))
        throw new Error('Svelte takes over a page in another way: adapt dev/mounted.mjs')
      return {
        code: code.replace(variable, 'export const hydrating = false;').replace(setter, '$1}'),
        map: null,
      }
    },
  }
}
