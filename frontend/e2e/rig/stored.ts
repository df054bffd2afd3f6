// Reads the app's IndexedDB databases in a page.
import type { Page } from 'playwright-core'

/** The records of one store; empty if the app has not created the database yet. */
export function stored<T>(page: Page, store: string): Promise<T[]> {
  const name = store === 'files' ? 'abide-files' : 'abide'
  return page.evaluate(
    async ({ name, store }) => {
      // Opening a missing database would create it, empty, and block the app.
      const made = (await indexedDB.databases()).some((db) => db.name === name)
      if (!made) return []
      const answer = <A>(asked: IDBRequest<A>) =>
        new Promise<A>((resolve, reject) => {
          asked.onsuccess = () => resolve(asked.result)
          asked.onerror = () => reject(asked.error)
        })
      const db = await answer(indexedDB.open(name))
      try {
        if (!db.objectStoreNames.contains(store)) return []
        return await answer(db.transaction(store).objectStore(store).getAll())
      } finally {
        db.close()
      }
    },
    { name, store },
  )
}
