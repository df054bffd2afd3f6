/**
 * The entry of a table for a name from outside: never an inherited member such as `constructor`.
 */
export function own<V>(table: Readonly<Partial<Record<string, V>>>, name: string): V | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
