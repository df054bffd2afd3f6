const key = 'abide.copies'
/** More are forgotten, the oldest first. */
const most = 100

/** Whether the last new session in a folder was to work in its own copy; kept on this device. */
export const wantsCopy = (folder: string): boolean => folders().includes(folder)

/** Remembers the choice for the next new session in the folder. */
export function rememberCopy(folder: string, wanted: boolean): void {
  const others = folders().filter((other) => other !== folder)
  try {
    localStorage.setItem(key, JSON.stringify(wanted ? [...others, folder].slice(-most) : others))
  } catch {
    // Then it is chosen each time.
  }
}

function folders(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? '[]')
    return Array.isArray(kept) ? kept.filter((folder) => typeof folder === 'string') : []
  } catch {
    return []
  }
}
