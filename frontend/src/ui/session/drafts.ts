const prefix = 'abide.draft.'

/** What a person has written in a session and not sent; shared between a person's tabs. */
export function loadDraft(sessionId: string): string {
  try {
    return localStorage.getItem(prefix + sessionId) ?? ''
  } catch {
    return ''
  }
}

/** Keeps a draft; false where it cannot be kept, so that it lasts only as long as the page. */
export function saveDraft(sessionId: string, text: string): boolean {
  try {
    if (text === '') localStorage.removeItem(prefix + sessionId)
    else localStorage.setItem(prefix + sessionId, text)
    return true
  } catch {
    return text === '' // forbidden storage keeps nothing that would have to go
  }
}

/** Calls back when another tab changes the draft; returns what ends it. */
export function watchDraft(sessionId: string, changed: (text: string) => void): () => void {
  const listen = (event: StorageEvent) => {
    if (event.key === prefix + sessionId) changed(event.newValue ?? '')
  }
  addEventListener('storage', listen)
  return () => removeEventListener('storage', listen)
}
