import type { OutboxFile } from '../../state/outboxitem'

const prefix = 'abide.draft.'
const named = 'abide.named.'
const giving = 'abide-draft'

/** Text that a person wrote elsewhere on a session's screen, for its composer. */
export interface Given {
  text: string
  files?: readonly OutboxFile[]
  /** Why it is there, in words for a person. */
  note?: string
  /** The person was at it: the composer takes the focus. */
  focus?: boolean
}

/** Drafts that the device could not store: they last as long as the page, across its screens. */
const unkept = new Map<string, string>()

/** A person's unsent text in a session; shared between a person's tabs. */
export function loadDraft(sessionId: string): string {
  const mine = unkept.get(sessionId)
  if (mine !== undefined) return mine
  try {
    return localStorage.getItem(prefix + sessionId) ?? ''
  } catch {
    return ''
  }
}

/** Keeps a draft; false where it cannot be kept, so that it lasts only as long as the page. */
export function saveDraft(sessionId: string, text: string): boolean {
  unkept.delete(sessionId)
  try {
    if (text === '') localStorage.removeItem(prefix + sessionId)
    else localStorage.setItem(prefix + sessionId, text)
  } catch {
    if (text !== '') unkept.set(sessionId, text) // forbidden storage keeps nothing that would have to go
  }
  return keepsDraft(sessionId)
}

/** Whether the device has a draft as it is, so far as this page knows. */
export function keepsDraft(sessionId: string): boolean {
  return !unkept.has(sessionId)
}

/** Gives a draft that begins a name that no other has; a person's tabs share it. */
export function nameDraft(sessionId: string): string {
  const name = crypto.randomUUID()
  try {
    localStorage.setItem(named + sessionId, name)
  } catch {
    // Then this tab alone knows it.
  }
  return name
}

/** The name of a session's draft; empty when it has none. */
export function draftName(sessionId: string): string {
  try {
    return localStorage.getItem(named + sessionId) ?? ''
  } catch {
    return ''
  }
}

/** No draft has the name from now on. */
export function unnameDraft(sessionId: string): void {
  try {
    localStorage.removeItem(named + sessionId)
  } catch {
    // Nothing was kept.
  }
}

/** Calls back when another tab changes the draft; returns the function that ends it. */
export function watchDraft(sessionId: string, changed: (text: string) => void): () => void {
  const listen = (event: StorageEvent) => {
    if (event.key !== prefix + sessionId) return
    unkept.delete(sessionId) // theirs is newer, and the device has it
    changed(event.newValue ?? '')
  }
  addEventListener('storage', listen)
  return () => removeEventListener('storage', listen)
}

/** Adds words to a session's draft: to its composer on this screen, else to the stored draft. */
export function giveDraft(sessionId: string, given: Given): void {
  const event = new CustomEvent(giving, { detail: { sessionId, given }, cancelable: true })
  if (dispatchEvent(event)) saveDraft(sessionId, joined(loadDraft(sessionId), given.text))
}

/**
 * Calls back with text added to a session's draft on this screen; returns the function that ends
 * it.
 */
export function takeDraft(sessionId: string, take: (given: Given) => void): () => void {
  const listen = (event: Event) => {
    const { detail } = event as CustomEvent<{ sessionId: string; given: Given }>
    if (detail.sessionId !== sessionId) return
    event.preventDefault()
    take(detail.given)
  }
  addEventListener(giving, listen)
  return () => removeEventListener(giving, listen)
}

/** Two texts as one: the present, then the new one. */
export function joined(there: string, more: string): string {
  return there.trim() === '' ? more : more.trim() === '' ? there : `${there.trimEnd()}\n\n${more}`
}
