/** The stores of a database, each with the types of its keys and values. */
export type Stores = Record<string, { key: IDBValidKey; value: unknown }>

/** A store in a transaction. Work that only awaits these answers keeps the transaction open. */
export class Store<K extends IDBValidKey, V> {
  constructor(private readonly store: IDBObjectStore) {}

  get(key: K): Promise<V | undefined> {
    return answer<V | undefined>(this.store.get(key))
  }

  getAll(range?: IDBKeyRange): Promise<V[]> {
    return answer<V[]>(this.store.getAll(range))
  }

  getAllKeys(): Promise<K[]> {
    return answer(this.store.getAllKeys() as IDBRequest) as Promise<K[]>
  }

  /** `key` is named only where a value has none of its own. */
  put(value: V, key?: K): Promise<unknown> {
    return answer(this.store.put(value, key))
  }

  delete(keys: K | IDBKeyRange): Promise<unknown> {
    return answer(this.store.delete(keys))
  }

  clear(): Promise<unknown> {
    return answer(this.store.clear())
  }
}

/** An open database, its requests as promises. */
export class Handle<S extends Stores> {
  constructor(readonly db: IDBDatabase) {}

  /** Runs work in one transaction and waits until it is done: what it wrote is on the device. */
  async transact<T, N extends keyof S & string>(
    mode: 'readonly' | 'readwrite',
    names: readonly N[],
    work: (store: <M extends N>(name: M) => Store<S[M]['key'], S[M]['value']>) => Promise<T>,
  ): Promise<T> {
    const tx = this.db.transaction(names, mode)
    const working = work((name) => new Store(tx.objectStore(name)))
    const done = new Promise<void>((resolve, reject) => {
      tx.oncomplete = () => resolve()
      tx.onerror = tx.onabort = () => reject(tx.error ?? new DOMException('aborted', 'AbortError'))
    })
    const [result] = await Promise.all([working, done])
    return result
  }
}

/**
 * Opens a database, the version that is there if none is named. `ended` is called once the connection is
 * of no use any more: the system closed it, or a newer page wants to change the database and gets it.
 */
export function open<S extends Stores>(
  name: string,
  version: number | undefined,
  upgrade: (db: IDBDatabase, before: number) => void,
  ended: () => void,
): Promise<Handle<S>> {
  const opening = indexedDB.open(name, version)
  opening.onupgradeneeded = ({ oldVersion }) => upgrade(opening.result, oldVersion)
  return answer(opening).then((db) => {
    db.onclose = ended
    db.onversionchange = () => {
      ended()
      db.close()
    }
    return new Handle(db)
  })
}

function answer<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error as DOMException)
  })
}
