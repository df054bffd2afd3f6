/** A number of things. Every language the app has says one thing and many things by two words. */
export function counted(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`
}
