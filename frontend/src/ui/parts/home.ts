/**
 * Where the focus goes when a person's button is gone: at the field, or at the feed where the field
 * would open a keyboard; outside a session at the first thing on its screen.
 */
export function home(): HTMLElement | null {
  const { matches: touch } = matchMedia('(pointer: coarse)')
  for (const place of [touch ? '' : '[data-composer]', '[role=feed]', 'main :is(a[href], button)']) {
    const found = place && document.querySelector<HTMLElement>(place)
    if (found) return found
  }
  return null
}
