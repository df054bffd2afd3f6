import { mount, unmount, type Component } from 'svelte'
import { copyText } from '../../text/clipboard'
import type { Screens } from '../app.svelte'
import Choices from './Choices.svelte'

/** One entry of a menu. */
export interface Choice {
  name: string
  icon: Component<{ size?: number | string }>
  act: () => unknown
}

/** Opens a menu at a button, in the landmark of the button: outside of an open dialog nothing can be pressed. */
export function menu(at: HTMLElement, label: string, choices: readonly Choice[]): void {
  const close = () => void unmount(shown)
  const shown = mount(Choices, {
    target: at.closest<HTMLElement>('dialog, main, aside') ?? document.body,
    props: { at, label, choices, close },
  })
}

/** Copies a text, and says whether the browser let it. */
export async function copies(app: Screens, text: string): Promise<void> {
  app.say((await copyText(text)) ? t`Copied` : t`Not copied: the browser does not let the app copy`)
}
