/** A path as a person reads it: relative to the workspace, else with its folders shortened. */
export function relative(path: string, workspace: string): string {
  if (workspace !== '' && path === workspace) return '.'
  if (workspace !== '' && path.startsWith(workspace.replace(/\/?$/, '/'))) {
    return path.slice(workspace.replace(/\/?$/, '/').length)
  }
  return path
}

/** The last part of a path. */
export function base(path: string): string {
  return path.replace(/\/+$/, '').split('/').at(-1) ?? path
}
