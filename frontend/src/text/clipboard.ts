/**
 * Writes a text to the clipboard; false where the browser does not let the page. At a plain-http
 * address there is no `navigator.clipboard`, and the older command copies what is selected.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    // Without it this throws, as a refused write does.
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copySelected(text)
  }
}

function copySelected(text: string): boolean {
  const before = document.activeElement
  const area = document.createElement('textarea')
  area.value = text
  area.readOnly = true // else a phone shows its keyboard
  area.className = 'visually-hidden'
  // Nothing outside an open dialog can be selected.
  ;(before?.closest('dialog') ?? document.body).append(area)
  area.focus({ preventScroll: true }) // Safari selects without it
  area.select()
  let done = false
  try {
    done = document.execCommand('copy')
  } catch {
    // The browser does not have the command.
  }
  area.remove()
  if (before instanceof HTMLElement) before.focus({ preventScroll: true })
  return done
}
