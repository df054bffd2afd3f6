import { partsOf, placesIn } from '../../text/found'

/**
 * Marks what is searched for in some elements of the page, also in those that come. Nothing is changed in them: the
 * browser paints the marks. Returns the function that ends it.
 */
export function marks(name: string, text: string, elements: string): () => void {
  const parts = partsOf(text)
  if (!('highlights' in CSS) || parts.length === 0) return () => {}
  let frame = 0
  const paint = () => {
    frame = 0
    CSS.highlights.set(name, new Highlight(...[...document.querySelectorAll(elements)].flatMap(ranges)))
  }
  const ranges = (element: Element): Range[] => {
    const nodes: { node: Text; at: number }[] = []
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    let whole = ''
    while (walker.nextNode()) {
      const node = walker.currentNode as Text
      nodes.push({ node, at: whole.length })
      whole += node.data
    }
    const set = (at: number, end: boolean) => {
      const found = nodes.findLast((of) => (end ? of.at < at : of.at <= at))!
      return [found.node, at - found.at] as const
    }
    return placesIn(whole, parts).map(([from, to]) => {
      const range = new Range()
      range.setStart(...set(from, false))
      range.setEnd(...set(to, true))
      return range
    })
  }
  const changes = new MutationObserver(() => (frame ||= requestAnimationFrame(paint)))
  changes.observe(document.body, { childList: true, characterData: true, subtree: true })
  paint()
  return () => {
    changes.disconnect()
    cancelAnimationFrame(frame)
    CSS.highlights.delete(name)
  }
}
