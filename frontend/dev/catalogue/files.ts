// The files of a session's workspace, and the folder browser of a new session.
import type { Changes, FileChange, FileList, FolderContent, FolderPlace } from '../../src/wire/gen'
import type { FileRead, Files } from '../../src/state/files'
import { opened, path } from './frames'
import type { State } from './state'

const root: FileList = {
  path: '',
  entries: [
    { name: 'cmd', kind: 'folder', size: 0 },
    { name: 'docs', kind: 'folder', size: 0 },
    { name: 'current', kind: 'link', size: 0 },
    { name: 'ferry.sock', kind: 'other', size: 0 },
    { name: 'gpj.\u202eexe.png', kind: 'file', size: 5_120 },
    { name: 'latin1-\ufffd.txt', kind: 'file', size: 12, unreadable: true },
    {
      name: 'a-name-that-is-longer-than-any-place-for-it-on-a-phone-or-beside-a-file.go',
      kind: 'file',
      size: 9,
    },
    { name: 'notes.md', kind: 'file', size: 300 },
    { name: 'retry.go', kind: 'file', size: 420 },
    { name: 'wait.go', kind: 'file', size: 31_000_000 },
  ],
  left_out: 4_990,
}
const inner: FileList = { path: 'cmd', entries: [{ name: 'main.go', kind: 'file', size: 812 }], left_out: 0 }

const changes: Changes = {
  repository: true,
  branch: 'retries-spread-out',
  files: [
    { path: 'cmd/main.go', code: ' M' },
    { path: 'notes.md', code: '??' },
    { path: 'old.go', code: ' D' },
    { path: 'retry.go', code: 'M ' },
    { path: 'wait.go', code: 'UU' },
  ],
  left_out: 12,
}

const code = `package ferry

import "time"

// Wait returns how long to wait before attempt n.
func Wait(n int) time.Duration {
	return min(most, base<<n) // a line that is a good deal longer than the screen of any phone is wide
}
`
const edited: FileChange = {
  before: code.replace('min(most, base<<n)', 'base << n').replace('// Wait returns', '// wait tells'),
  after: code,
}
const notes =
  '# Notes\n\nWhy the retries **spread out**:\n\n- one outage, many clients\n- `Wait` was the same for all\n'

/** A read that returns these bytes with this type; `size` is the whole file's if the bytes are only its start. */
const bytes = (content: BlobPart, type = '', size?: number) => {
  const blob = new Blob([content], { type })
  return async (): Promise<FileRead> => ({ blob, size: size ?? blob.size })
}
const picture = async (): Promise<FileRead> => {
  const blob = await (await fetch('/icons/apple-180.png')).blob()
  return { blob, size: blob.size }
}
const unreachable = () => Promise.reject(new Error('The hub cannot be reached.'))

const hub = (over: Partial<Files>) => () => ({
  files: async (): Promise<Files> => ({
    folders: async () => folder,
    makeFolder: unreachable,
    list: async (_, of) => (of === 'cmd' ? inner : root),
    changes: async () => changes,
    branch: async () => null,
    change: async () => edited,
    read: bytes(code),
    complete: async () => [],
    ...over,
  }),
})

const files = (name: string, over: Partial<Files> = {}, does: State['does'] = []): State => ({
  name: `files${name}`,
  path: `${path}/files`,
  messages: opened,
  hub: hub(over),
  does,
})

const file = (name: string, of: string, read: Files['read'], over: Partial<Files> = {}): State => ({
  ...files(`, ${name}`, { read, ...over }),
  query: `?path=${encodeURIComponent(of)}`,
})

const folder: FolderContent = {
  name: 'ferry',
  path: '/src/ferry',
  repository: true,
  branch: 'main',
  parent: '/src',
  folders: [
    { name: 'cmd', path: '/src/ferry/cmd', repository: false },
    { name: 'vendored', path: '/src/ferry/vendored', repository: true, branch: 'release-2.4' },
    { name: 'gpj.\u202eexe', path: '/src/ferry/gpj.\u202eexe', repository: false },
  ],
  left_out: 3,
}

/** What the hub says of the typed folder. */
const place = (over: Partial<FolderPlace>) => (): FolderPlace => ({
  path: '/src/ferry',
  shown: '~/src/ferry',
  allowed: true,
  ...over,
})
const browser = (
  name: string,
  over: Partial<Files>,
  does: State['does'] = [],
  says: () => FolderPlace = place({}),
): State => ({
  name: `new session, folders${name}`,
  path: '/',
  overlay: 'new_session',
  messages: opened,
  hub: () => ({ ...hub(over)(), ask: async <T>() => says() as T }),
  does: [{ press: '[data-folder]' }, ...does],
})

export const workspace: State[] = [
  files(''),
  files(', a folder opened', {}, [
    { press: '.which button' },
    { press: 'main nav button[aria-expanded=false]' },
  ]),
  files(', those that changed', {}, [{ press: 'main nav button[aria-pressed=false]' }]),
  files(', no repository', { changes: async () => ({ repository: false, files: [] }) }),
  files(', changes unknown', {
    changes: async () => ({ repository: true, files: [], unknown: 'git is not installed' }),
  }),
  files(', empty', { list: async () => ({ path: '', entries: [] }) }),
  files(', loading', { list: () => new Promise(() => {}) }),
  files(', failed', { list: unreachable, changes: unreachable }),
  file('code', 'pause.go', bytes(code)),
  file('code that deceives', 'cmd/ferry.go', bytes(`${code}// \u202e tfel ot thgir\n`)),
  // In few lines: axe looks at each line of a text, and 8,000 of them took it twenty seconds.
  file(
    'long code',
    'pause.go',
    bytes(`${code.replaceAll('\n', ' ').repeat(4)}\n`.repeat(300), '', 31_000_000),
  ),
  file('markdown', 'README.md', bytes(notes)),
  file('a picture', 'gpj.\u202eexe.png', picture),
  file('a damaged picture', 'logo.png', bytes('no picture', 'image/png')),
  file('a large picture', 'logo.png', bytes('the beginning', 'image/png', 31_000_000)),
  file('a binary', 'ferry', bytes(new Uint8Array([0, 1, 2, 255]))),
  file('an empty file', 'empty.txt', bytes('')),
  file('a changed file', 'retry.go', bytes(code)),
  {
    ...file('a changed file, its content', 'retry.go', bytes(code)),
    does: [{ press: 'main section .which button[aria-pressed=false]' }],
  },
  file('a new file', 'notes.md', bytes(notes), { change: async () => ({ after: notes }) }),
  file('a deleted file', 'old.go', unreachable, { change: async () => ({ before: code }) }),
  file('a deleted binary', 'old.go', unreachable, { change: async () => ({ unknown: 'it is binary' }) }),
  file('a changed binary', 'wait.go', bytes(new Uint8Array([0, 1, 2, 255])), {
    change: async () => ({ unknown: 'it is binary' }),
  }),
  file('a change that loads', 'retry.go', bytes(code), { change: () => new Promise(() => {}) }),
  file('a change that failed', 'retry.go', bytes(code), { change: unreachable }),
  file('a new folder', 'vendored/', bytes(code), {
    changes: async () => ({ ...changes, files: [{ path: 'vendored/', code: '??' }] }),
  }),
  file('a file that failed', 'pause.go', unreachable),
  file('a file that loads', 'pause.go', () => new Promise(() => {})),
  browser('', {}),
  browser(', none here', { folders: async () => ({ ...folder, parent: '', folders: [], left_out: 0 }) }),
  browser(', loading', { folders: () => new Promise(() => {}) }),
  browser(', failed', { folders: unreachable }),
  browser(', the allowed ones', { folders: async () => ({ ...folder, parent: '' }) }, [
    { press: '.browser li button' },
  ]),
  browser(
    ', one to allow',
    {},
    [{ wait: 400 }],
    place({ shown: '~/src/gpj.\u202eexe', allowed: false, may_allow: true }),
  ),
  browser(
    ', one that is refused',
    {},
    [{ wait: 400 }],
    place({ allowed: false, why: 'it belongs to the hub itself: choose the folder of a project' }),
  ),
  browser(', not created', {}, [
    { write: 'dialog .browser input', words: 'harbour' },
    { press: 'dialog .new button' },
  ]),
]
