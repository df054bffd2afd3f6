import { initial, reduce, type AppState } from './app'
import type { Message } from './message'

/** Holds the app's state. Messages are reduced at once, in the order they come. */
export class Store {
  private current: AppState
  private readonly listeners = new Set<(state: AppState) => void>()

  constructor(from: AppState = initial) {
    this.current = from
  }

  get state(): AppState {
    return this.current
  }

  dispatch = (message: Message): void => {
    const next = reduce(this.current, message)
    if (next === this.current) return
    this.current = next
    for (const listener of this.listeners) listener(next)
  }

  /** Calls listener after each change; returns the function that ends it. */
  subscribe(listener: (state: AppState) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
}
