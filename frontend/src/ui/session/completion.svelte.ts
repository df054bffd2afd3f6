import type { Command } from '../../wire/gen'

/** One completion: its shown name, its kind, and its text. */
export interface Offered {
  name: string
  about: string
  text: string
}

/** Finds the completions of an @. */
export type Find = (typed: string, ended: AbortSignal) => Promise<readonly Offered[]>

/** Completes a slash command, or a file or session after an @, while it is being written. */
export class Completion {
  /** Index of the one Enter would take. */
  chosen = $state(0)
  /** Until something is written: a draft that was there opens nothing. */
  private dismissed = $state(true)
  private found = $state.raw<readonly Offered[]>([])
  private asked: AbortController | undefined
  private readonly word = $derived.by(() => /^\/([\w:-]*)$/.exec(this.text())?.[1])
  readonly commands = $derived.by((): readonly Offered[] => {
    const { word } = this
    if (this.dismissed) return []
    if (word === undefined) return this.found
    return this.offered()
      .filter((c) => c.name.startsWith(word))
      .slice(0, 8)
      .map(({ name, description, hint }) => ({
        name: `/${name}`,
        about: description ?? hint ?? '',
        text: `/${name}${hint ? ' ' : ''}`,
      }))
  })

  constructor(
    private readonly text: () => string,
    private readonly offered: () => readonly Command[],
    private readonly find: Find,
    private readonly take: (text: string) => void,
  ) {}

  /** The text changed; `before` is the text before the cursor. */
  changed(before: string): void {
    this.chosen = 0
    this.dismissed = false
    this.asked?.abort()
    const typed = /(?:^|\s)@([^\s@]*)$/.exec(before)?.[1]
    if (typed === undefined) {
      this.found = []
      return
    }
    const asked = (this.asked = new AbortController())
    this.find(typed, asked.signal).then(
      (found) => {
        if (!asked.signal.aborted) this.found = found
      },
      () => {}, // without the hub there is nothing to offer
    )
  }

  dismiss(): void {
    this.dismissed = true
    this.found = []
    this.asked?.abort()
  }

  /** Takes one: the text that it completes is replaced. */
  complete({ text }: Offered): void {
    this.take(text)
    this.dismiss()
  }

  /** Carries out a key press on the list; false when the key is not the list's. */
  press(event: KeyboardEvent): boolean {
    if (this.commands.length === 0) return false
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    const command = this.commands[this.chosen]
    if (step !== 0) this.chosen = (this.chosen + step + this.commands.length) % this.commands.length
    else if (command && (event.key === 'Tab' || (event.key === 'Enter' && command.name !== `/${this.word}`)))
      this.complete(command)
    else if (event.key === 'Escape') {
      event.stopPropagation()
      this.dismiss()
    } else return false
    event.preventDefault()
    return true
  }
}
