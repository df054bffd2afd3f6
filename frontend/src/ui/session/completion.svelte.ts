import type { Command } from '../../wire/gen'

/** Completes a slash command while it is being written. */
export class Completion {
  /** Index of the one Enter would take. */
  chosen = $state(0)
  /** Until something is written: a draft that was there opens nothing. */
  private dismissed = $state(true)
  private readonly word = $derived.by(() => /^\/([\w:-]*)$/.exec(this.text())?.[1])
  readonly commands = $derived.by(() => {
    const { word } = this
    return word === undefined || this.dismissed
      ? []
      : this.offered()
          .filter((c) => c.name.startsWith(word))
          .slice(0, 8)
  })

  constructor(
    private readonly text: () => string,
    private readonly offered: () => readonly Command[],
    private readonly take: (command: Command) => void,
  ) {}

  /** What was written changed. */
  changed(): void {
    this.chosen = 0
    this.dismissed = false
  }

  dismiss(): void {
    this.dismissed = true
  }

  /** Does what a key asks of the list; false when the key is not the list's. */
  press(event: KeyboardEvent): boolean {
    if (this.commands.length === 0) return false
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    const command = this.commands[this.chosen]
    if (step !== 0) this.chosen = (this.chosen + step + this.commands.length) % this.commands.length
    else if (command && (event.key === 'Tab' || (event.key === 'Enter' && command.name !== this.word)))
      this.take(command)
    else if (event.key === 'Escape') {
      event.stopPropagation()
      this.dismiss()
    } else return false
    event.preventDefault()
    return true
  }
}
