/** What a table has under a name that somebody else chose: never what every object has, as `constructor`. */
export function own<V>(table: Readonly<Partial<Record<string, V>>>, name: string): V | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}
