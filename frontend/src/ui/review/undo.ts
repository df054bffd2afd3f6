import { mount, unmount } from 'svelte'
import type { Screens } from '../app.svelte'
import Undo from './Undo.svelte'

/** Opens the dialog that goes back to before the prompt of a turn. */
export function goBack(app: Screens, id: string, turn: number): void {
  const close = () => void unmount(dialog)
  const dialog = mount(Undo, { target: document.body, props: { app, id, turn, close } })
}
