/** How one is told of sizes that change. */
export type Told = (entries: readonly ResizeObserverEntry[]) => void

/** For a browser without ResizeObserver: looks at each frame while there is something to look at. */
class Looking {
  private readonly sizes = new Map<Element, string>()
  private frame = 0

  constructor(private readonly told: Told) {}

  observe(element: Element): void {
    this.sizes.set(element, '')
    this.frame ||= requestAnimationFrame(this.look)
  }

  unobserve(element: Element): void {
    this.sizes.delete(element)
  }

  disconnect(): void {
    this.sizes.clear()
  }

  private readonly look = (): void => {
    const changed = [...this.sizes].flatMap(([target, before]) => {
      const { width: inlineSize, height: blockSize } = target.getBoundingClientRect()
      const size = `${inlineSize} ${blockSize}`
      this.sizes.set(target, size)
      return size === before ? [] : [{ target, borderBoxSize: [{ inlineSize, blockSize }] }]
    })
    if (changed.length > 0) this.told(changed as unknown as ResizeObserverEntry[])
    this.frame = this.sizes.size > 0 ? requestAnimationFrame(this.look) : 0
  }
}

/** Tells of each element's size once it is watched, and of each change. */
export const Resized: new (told: Told) => Pick<ResizeObserver, 'observe' | 'unobserve' | 'disconnect'> =
  globalThis.ResizeObserver ?? Looking
