/** What a browser is called in the list of devices, until a person gives it a name. */
export function deviceName(agent: string): string {
  const browser = /Firefox|Edg|Chrome|Safari/.exec(agent)?.[0].replace('Edg', 'Edge') ?? 'Browser'
  const system = /Android|iPhone|iPad|Mac OS|Windows|Linux/.exec(agent)?.[0]
  return system ? `${browser} on ${system}` : browser
}
