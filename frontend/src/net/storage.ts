/** The device's localStorage; where it is forbidden, one that lasts as long as the page. */
export function deviceStorage(): Storage {
  try {
    return localStorage // reading the property throws
  } catch {
    return new PageStorage()
  }
}

class PageStorage implements Storage {
  private readonly items = new Map<string, string>()

  get length(): number {
    return this.items.size
  }

  clear(): void {
    this.items.clear()
  }

  getItem(key: string): string | null {
    return this.items.get(key) ?? null
  }

  key(index: number): string | null {
    return [...this.items.keys()][index] ?? null
  }

  removeItem(key: string): void {
    this.items.delete(key)
  }

  setItem(key: string, value: string): void {
    this.items.set(key, value)
  }
}
