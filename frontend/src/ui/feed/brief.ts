const briefly = 8

export interface Brief {
  /** The first lines that say something. */
  text: string
  /** How many lines there are in all where some are left out; else 0. */
  of: number
}

/** Cuts a command short for a closed card: neither blank lines nor many lines fill the screen. */
export function brief(command: string): Brief {
  if (command.trim() === '') return { text: '', of: 0 }
  const lines = command.replace(/\s+$/, '').split('\n')
  const says = (line: string | undefined) => line !== undefined && line.trim() !== ''
  // One blank line of several is kept, and none before the first that says something.
  const kept = lines.filter((line, i) => says(line) || says(lines[i - 1]))
  const shown = kept.slice(0, briefly)
  return { text: shown.join('\n'), of: shown.length < lines.length ? lines.length : 0 }
}

/** The line a command is known by. */
export function firstLine(title: string): string {
  return title.trimStart().split('\n', 1)[0]!
}

/** What a call's title says before its file's path, where it ends with one of these; else null. */
export function verbOf(title: string, paths: readonly string[]): string | null {
  const plain = title.replace(/[`"]/g, '').trimEnd()
  const path = paths.find((of) => of !== '' && plain.endsWith(` ${of}`))
  const verb = path && plain.slice(0, -path.length).trim()
  return verb && verb.length <= 16 ? verb : null
}
