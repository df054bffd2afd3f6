/** A folder in which a session may run. */
export interface Folder {
  name: string
  path: string
  /** Whether it is a git repository's worktree, and on which branch. */
  repository: boolean
  branch?: string
}

/** A folder and the folders in it. */
export interface FolderContent extends Folder {
  /** Empty for the topmost one that may be shown. */
  parent?: string
  folders: readonly Folder[]
  left_out?: number
}

/** Files and folders of the hub's machine. The text of an error is for the person. */
export interface Files {
  /** A folder by its path, which may begin with ~; '' is the first one that sessions may run in. */
  folders(path: string): Promise<FolderContent>
  makeFolder(path: string): Promise<Folder>
  /** Paths of a session's workspace that match what was typed, the best first. */
  complete(sessionId: string, typed: string, ended: AbortSignal): Promise<readonly string[]>
}
