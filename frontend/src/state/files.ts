import type { Branch, Changes, FileChange, FileList, Folder, FolderContent } from '../wire/gen'
/** A file's beginning, of at most 2 MiB, and how many bytes all of it has. */
export interface FileRead {
  blob: Blob
  size: number
}

/** Files and folders of the hub's machine. The text of an error is for the person. */
export interface Files {
  /** A folder by its path, which may begin with ~; '' is the first one that sessions may run in. */
  folders(path: string, machine?: string): Promise<FolderContent>
  makeFolder(path: string): Promise<Folder>
  /** A folder of a session's workspace by its path in there; '' is the workspace. */
  list(sessionId: string, path: string): Promise<FileList>
  changes(sessionId: string): Promise<Changes>
  /** Git runs for each answer, so no more than two are asked for at once; null if it ended before its turn. */
  branch(sessionId: string, ended: AbortSignal): Promise<Branch | null>
  change(sessionId: string, path: string): Promise<FileChange>
  read(sessionId: string, path: string): Promise<FileRead>
  /** Paths of a session's workspace that match the typed text, the best first. */
  complete(sessionId: string, typed: string, ended: AbortSignal): Promise<readonly string[]>
}

/** The address of a file of a session's workspace in the app. */
export const fileAddress = (sessionId: string, path: string) =>
  `/s/${sessionId}/files${path === '' ? '' : `?path=${encodeURIComponent(path)}`}`

/** The names of a change: one letter and a word. */
export function changeWords(code: string): { letter: string; word: string } {
  if (code === '??') return { letter: 'N', word: t`new` }
  if (code.includes('U') || code === 'AA' || code === 'DD') return { letter: '!', word: t`in conflict` }
  if (code.includes('D')) return { letter: 'D', word: t`deleted` }
  if (code.includes('R')) return { letter: 'R', word: t`renamed` }
  if (code.includes('A')) return { letter: 'A', word: t`added` }
  return { letter: 'M', word: t`modified` }
}

/** A file that can be shown in the app, or why it is not. */
export type Shown =
  | { kind: 'text'; text: string; markdown: boolean; language: string }
  | { kind: 'picture' }
  | { kind: 'binary' }
  | { kind: 'large' }

const pictures = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** Decides by its bytes how a file is shown; of a text that is cut the last character may be cut, too. */
export async function shownAs(path: string, { blob, size }: FileRead): Promise<Shown> {
  if (pictures.has(blob.type)) return { kind: size > blob.size ? 'large' : 'picture' }
  let text
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(await blob.arrayBuffer(), {
      stream: size > blob.size,
    })
  } catch {
    return { kind: 'binary' }
  }
  if (text.includes('\0')) return { kind: 'binary' }
  const name = path.split('/').at(-1) ?? ''
  const ending = name.includes('.') ? name.split('.').at(-1)!.toLowerCase() : name.toLowerCase()
  return { kind: 'text', text, markdown: ending === 'md' || ending === 'markdown', language: ending }
}
