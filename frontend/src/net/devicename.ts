/** The name of a browser in the list of devices, until a person gives it one. */
export function deviceName(agent: string): string {
  const browser = /Firefox|Edg|Chrome|Safari/.exec(agent)?.[0].replace('Edg', 'Edge') ?? 'Browser'
  // Android says Linux, too, and an iPhone says Mac OS: the more telling name comes first.
  const system = ['Android', 'iPhone', 'iPad', 'Mac OS', 'Windows', 'Linux'].find((name) =>
    agent.includes(name),
  )
  return system ? `${browser} on ${system}` : browser
}
