/** What a key asks for, where nothing is being typed. */
export type Action =
  | 'palette'
  | 'help'
  | 'search'
  | 'compose'
  | 'next'
  | 'previous'
  | 'open'
  | 'top'
  | 'end'
  | 'unread'
  | 'next_tool'
  | 'previous_tool'
  | 'next_error'
  | 'next_diff'
  | 'next_session'
  | 'previous_session'
  | 'question'
  | 'new_session'

/** Every key with its action and what the help says of it. */
export const bindings: readonly { keys: string; action: Action; says: string }[] = [
  { keys: 'Ctrl+K', action: 'palette', says: 'Commands and sessions' },
  { keys: '?', action: 'help', says: 'These keys' },
  { keys: '/', action: 'search', says: 'Search sessions' },
  { keys: 'c', action: 'new_session', says: 'New session' },
  { keys: '[', action: 'previous_session', says: 'Session above in the list' },
  { keys: ']', action: 'next_session', says: 'Session below in the list' },
  { keys: 'i', action: 'compose', says: 'Write a prompt' },
  { keys: 'q', action: 'question', says: 'The waiting question' },
  { keys: 'j', action: 'next', says: 'Next entry' },
  { keys: 'k', action: 'previous', says: 'Previous entry' },
  { keys: 'o', action: 'open', says: 'Open or close the entry' },
  { keys: 'n', action: 'next_tool', says: 'Next tool call' },
  { keys: 'p', action: 'previous_tool', says: 'Previous tool call' },
  { keys: 'e', action: 'next_error', says: 'Next error' },
  { keys: 'd', action: 'next_diff', says: 'Next change to a file' },
  { keys: 'u', action: 'unread', says: 'First unread' },
  { keys: 'gg', action: 'top', says: 'First event' },
  { keys: 'G', action: 'end', says: 'Latest' },
]

const byKeys = new Map(bindings.map((b) => [b.keys, b.action]))

interface Pressed {
  key: string
  ctrlKey: boolean
  metaKey: boolean
  altKey: boolean
  repeat?: boolean
}

/** Reads key presses into actions; "gg" is two presses in a row. */
export class Keys {
  private before = ''

  /** The action of a press, or null; `typing` says that a field has the focus. */
  press(event: Pressed, typing: boolean): Action | null {
    const { before } = this
    this.before = ''
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') return 'palette'
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return null
    const both = byKeys.get(before + event.key)
    if (before !== '' && both) return both
    const action = byKeys.get(event.key)
    if (action) return action
    if (event.key === 'g') this.before = 'g'
    return null
  }
}

/** Whether what has the focus takes text. */
export function takesText(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest('input, textarea, select, [contenteditable], dialog') !== null
  )
}
