import type { Screens } from '../app.svelte'

/** Imports exported sessions, one after the other, and opens the last of them. */
export async function bring(app: Screens, files: Iterable<File>): Promise<void> {
  for (const file of files) {
    app.say(t`Importing ${file.name}…`)
    try {
      const session = await (await app.hub.review()).bring(file)
      app.say(t`Imported “${session.name || t`Untitled session`}”.`)
      app.router.go(`/s/${session.session_id}`)
    } catch (error) {
      app.notice = null
      const text = t`${file.name} was not imported: ${(error as Error).message}`
      app.store.dispatch({ kind: 'problem', text })
    }
  }
}

/** Lets a person choose exported sessions to import. */
export function chooseImport(app: Screens): void {
  const picker = document.createElement('input')
  picker.type = 'file'
  picker.accept = '.zip,.jsonl'
  picker.multiple = true
  picker.onchange = () => void bring(app, picker.files ?? [])
  picker.click()
}
