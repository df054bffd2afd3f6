const upwards = ['ArrowUp', 'PageUp', 'Home']
/** A finger may tremble this far, in px. */
const tremble = 4

/** Which way the reader's own wheel, finger or keys last went. */
export class Hand {
  /** Away from the end. */
  up = false
  private touched = 0

  take(event: WheelEvent | TouchEvent | KeyboardEvent): void {
    if (event instanceof WheelEvent) this.up = event.deltaY < 0
    else if (event instanceof KeyboardEvent) this.up = upwards.includes(event.key)
    else {
      const y = event.touches[0]?.clientY ?? 0
      this.up = event.type === 'touchmove' && y > this.touched + tremble
      if (event.type === 'touchstart') this.touched = y
    }
  }
}
