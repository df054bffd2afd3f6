/** The editors that a link can open a file in, by what their links begin with. */
export const editors = {
  vscode: 'VS Code',
  cursor: 'Cursor',
  zed: 'Zed',
  idea: 'IntelliJ IDEA',
  goland: 'GoLand',
  pycharm: 'PyCharm',
  'web-storm': 'WebStorm',
  'php-storm': 'PhpStorm',
  rubymine: 'RubyMine',
  clion: 'CLion',
  rd: 'Rider',
} as const

export type Editor = keyof typeof editors

/** A place in a file of the hub's machine. */
export interface FilePlace {
  /** Absolute, or relative to the workspace. */
  path: string
  workspace: string
  /** The folder that an editor has open as its project: the repository, or the session's own copy of it. */
  root: string
  line?: number | undefined
}

export function isEditor(name: string): name is Editor {
  return Object.hasOwn(editors, name)
}

/** The two parts of a person's choice: "vscode", or "vscode ada@box" with what ssh calls the hub's machine. */
export function chosenEditor(choice: string): { editor: string; host: string } {
  const [editor = '', host = ''] = choice.split(' ')
  return { editor, host }
}

/** A host as ssh takes it, with a person before it or not; no options, no path. */
export function isHost(host: string): boolean {
  return /^([\w][\w.-]*@)?[\w][\w.-]*$/.test(host)
}

/** The address that opens a file in the chosen editor; null where that cannot open it. */
export function editorAddress(choice: string, place: FilePlace): string | null {
  const { editor, host } = chosenEditor(choice)
  const { path, workspace, root, line } = place
  if (!path.startsWith('/') && !workspace.startsWith('/')) return null
  const whole = path.startsWith('/') ? path : `${workspace.replace(/\/+$/, '')}/${path}`
  if (!isEditor(editor) || (host !== '' && !isHost(host))) return null
  const at = line === undefined ? '' : `:${line}`
  if (editor === 'vscode' || editor === 'cursor') {
    if (host === '') return `${editor}://file${escaped(whole)}${at}`
    return `${editor}://vscode-remote/ssh-remote+${host}${escaped(whole)}${at && `${at}:1`}`
  }
  if (editor === 'zed')
    return host === '' ? `zed://file${escaped(whole)}${at}` : `zed://ssh/${host}${escaped(whole)}`
  const project = root.replace(/\/+$/, '')
  if (host !== '' || project === '' || !whole.startsWith(`${project}/`)) return null
  const name = project.slice(project.lastIndexOf('/') + 1)
  const below = escaped(whole.slice(project.length + 1))
  return `jetbrains://${editor}/navigate/reference?project=${encodeURIComponent(name)}&path=${below}${at}`
}

/** A path whose names are no part of an address: its slashes stay. */
function escaped(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}
