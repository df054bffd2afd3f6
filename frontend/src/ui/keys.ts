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

/** Every key with its action, in the order of the help. */
export const bindings: readonly { keys: string; action: Action }[] = [
  { keys: 'Ctrl+K', action: 'palette' },
  { keys: '?', action: 'help' },
  { keys: '/', action: 'search' },
  { keys: 'c', action: 'new_session' },
  { keys: '[', action: 'previous_session' },
  { keys: ']', action: 'next_session' },
  { keys: 'i', action: 'compose' },
  { keys: 'q', action: 'question' },
  { keys: 'j', action: 'next' },
  { keys: 'k', action: 'previous' },
  { keys: 'o', action: 'open' },
  { keys: 'n', action: 'next_tool' },
  { keys: 'p', action: 'previous_tool' },
  { keys: 'e', action: 'next_error' },
  { keys: 'd', action: 'next_diff' },
  { keys: 'u', action: 'unread' },
  { keys: 'gg', action: 'top' },
  { keys: 'G', action: 'end' },
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
