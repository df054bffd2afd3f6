import type { OutboxFile } from '../../state/outboxitem'
import { bytes } from '../../text/time'

/** The hub takes no larger file, and no more of them with one prompt. */
export const fileMax = 25 * 1024 * 1024
export const filesMax = 20

/** Adds files to those chosen; the problem names the files left out. */
export function acceptFiles(
  have: readonly OutboxFile[],
  more: readonly File[],
): { files: readonly OutboxFile[]; problem: string } {
  const files = [...have]
  const problems: string[] = []
  const surplus: string[] = []
  for (const file of more) {
    const name = file.name || t`pasted`
    if (file.size === 0) problems.push(t`${name} is empty.`)
    else if (file.size > fileMax)
      problems.push(t`${name} has ${bytes(file.size)}; at most ${bytes(fileMax)} can be sent.`)
    else if (files.length >= filesMax) surplus.push(name)
    else files.push({ name, blob: file })
  }
  if (surplus.length > 0)
    problems.push(
      t`A prompt takes ${filesMax} files; left out ${surplus.length === 1 ? t`is` : t`are ${surplus.length}:`} ${surplus.join(', ')}.`,
    )
  return { files, problem: problems.join(' ') }
}
