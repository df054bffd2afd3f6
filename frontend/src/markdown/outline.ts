/**
 * The levels of a message's headings: below those of the screen they stand on, and at most one
 * below the last, for any numbers that the agent wrote. They look as they were written.
 */
export class Outline {
  constructor(
    private readonly base: number,
    private readonly open: readonly number[] = [],
  ) {}

  /** Sets the levels of the next headings, and returns the outline after them. */
  level(fragment: ParentNode): Outline {
    const open = [...this.open]
    for (const heading of fragment.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
      const written = Number(heading.tagName[1])
      while (open.length > 0 && open.at(-1)! >= written) open.pop()
      open.push(written)
      heading.setAttribute('aria-level', String(Math.min(this.base + open.length - 1, 6)))
    }
    return new Outline(this.base, open)
  }
}
