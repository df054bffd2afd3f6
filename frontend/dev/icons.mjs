import { readFileSync } from 'node:fs'

/**
 * Draws each icon of @lucide/svelte as the SVG it is. The library's own component builds one from a list of shapes in
 * the page, for icons that change; ours never do, and a session shows dozens.
 * @returns {import('vite').Plugin}
 */
export function plainIcons() {
  return {
    name: 'abide-plain-icons',
    enforce: 'pre',
    load(id) {
      if (!/@lucide\/svelte\/dist\/icons\/[\w-]+\.svelte$/.test(id)) return null
      return drawn(readFileSync(id, 'utf8'))
    },
  }
}

/** @param {string} source */
function drawn(source) {
  const data = /const iconData = (.*);/.exec(source)
  if (!data) throw new Error('an icon has no iconData any more')
  /** @type {[string, Record<string, string>][]} */
  const shapes = JSON.parse(data[1]).node
  const inside = shapes.map(([tag, attributes]) => {
    const said = Object.entries(attributes).map(([name, value]) => ` ${name}="${value}"`)
    return `<${tag}${said.join('')} />`
  })
  // Without defaults of their own they are read where they are used, and cost no icon as much as its shapes.
  return `<script lang="ts">
  let { size, fill, class: more, 'aria-label': label } = $props()
</script>
<svg viewBox="0 0 24 24" width={size ?? 24} height={size ?? 24} fill={fill ?? 'none'} class={more ?? ''}
  aria-label={label} aria-hidden={label === undefined ? 'true' : undefined} stroke="currentColor" stroke-width="2"
  stroke-linecap="round" stroke-linejoin="round">${inside.join('')}</svg>`
}
