// What a page's databases hold, read beside the app.
import type { Page } from 'playwright-core'

/** The records of one store; none while the app has not made it. */
export function stored<T>(page: Page, store: string): Promise<T[]> {
  const name = store === 'files' ? 'abide-files' : 'abide'
  return page.evaluate(
    async ({ name, store }) => {
      // To open what is not there would make it, empty, and in the app's way.
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
