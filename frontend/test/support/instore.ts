import type { Sessions } from '../../src/net/db'
import type { Handle, Store } from '../../src/net/indexeddb'

/** Work on one store of the app's database, in a transaction of its own. */
export function inStore<N extends keyof Sessions, T>(
  name: N,
  work: (store: Store<Sessions[N]['key'], Sessions[N]['value']>) => Promise<T>,
): (db: Handle<Sessions>) => Promise<T> {
  return (db) => db.transact('readwrite', [name], (at) => work(at(name)))
}

/** How many values a store has. */
export const count = (name: keyof Sessions) =>
  inStore(name, async (store) => (await store.getAllKeys()).length)
