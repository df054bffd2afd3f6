/** The action of a key outside of a text field. */
export type Action =
  | 'palette'
  | 'help'
  | 'search'
  | 'find'
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
  | 'previous_error'
  | 'previous_diff'
  | 'next_prompt'
  | 'previous_prompt'
  | 'next_session'
  | 'previous_session'
  | 'question'
  | 'new_session'

/** Every key with its action, in the order of the help. */
export const bindings: readonly { keys: string; action: Action }[] = [
  { keys: t`Ctrl+K`, action: 'palette' },
  { keys: '?', action: 'help' },
  { keys: '/', action: 'search' },
  { keys: t`Ctrl+F`, action: 'find' },
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
  { keys: 'E', action: 'previous_error' },
  { keys: 'd', action: 'next_diff' },
  { keys: 'D', action: 'previous_diff' },
  { keys: '}', action: 'next_prompt' },
  { keys: '{', action: 'previous_prompt' },
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
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'f') return 'find'
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return null
    const both = byKeys.get(before + event.key)
    if (before !== '' && both) return both
    const action = byKeys.get(event.key)
    if (action) return action
    if (event.key === 'g') this.before = 'g'
    return null
  }
}

/**
 * Whether a key press is text for the composer: a letter pressed on a session's screen outside the
 * feed, a question and a menu, where letters are commands. A question that took the focus by itself
 * has no letters of its own, so that typing answers nothing by accident.
 */
export function isForComposer(event: Pressed & { target: EventTarget | null }): boolean {
  if (event.key.length !== 1 || event.key === ' ' || event.ctrlKey || event.metaKey || event.altKey)
    return false
  const at = event.target instanceof Element ? event.target : null
  return !takesText(at) && !at?.closest('[role=feed], [role=menu], [data-permission]:not([data-arrived])')
}

/** Whether the focused element takes text. */
export function takesText(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest('input, textarea, select, [contenteditable], dialog') !== null
  )
}
