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
