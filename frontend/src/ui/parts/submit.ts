/** Ctrl+Enter or ⌘+Enter in a field of several lines sends its form. */
export function submitByKey(event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }): void {
  // 229: Safari ends a composition before the Enter that ended it.
  if (event.key !== 'Enter' || event.isComposing || event.keyCode === 229) return
  if (!event.ctrlKey && !event.metaKey) return
  event.preventDefault()
  event.currentTarget.form?.requestSubmit()
}
