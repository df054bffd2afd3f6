export type Theme = 'system' | 'light' | 'dark'
export type TextSize = 'small' | 'normal' | 'large' | 'larger'

interface Saved {
  theme: Theme
  text: TextSize
  /** Whether Enter sends; with a touch keyboard it makes a new line unless chosen. */
  enterSends: boolean
  inspector: boolean
  /** Whether changes are shown in two columns where there is room. */
  sideBySide: boolean
  /** Whether the hint that this device can be told was answered. */
  hinted: boolean
  /** The editor that links to files open, see text/editor.ts; '' is none. */
  editor: string
}

const key = 'abide.prefs'

/** A person's choices on this device. */
export class Prefs {
  private saved: Saved = $state(read())

  constructor() {
    mark('theme', this.theme, 'system')
    mark('text', this.text, 'normal')
  }

  get theme(): Theme {
    return this.saved.theme
  }

  set theme(theme: Theme) {
    this.saved.theme = theme
    mark('theme', theme, 'system')
    this.write()
  }

  get text(): TextSize {
    return this.saved.text
  }

  set text(text: TextSize) {
    this.saved.text = text
    mark('text', text, 'normal')
    this.write()
  }

  get enterSends(): boolean {
    return this.saved.enterSends
  }

  set enterSends(value: boolean) {
    this.saved.enterSends = value
    this.write()
  }

  get inspector(): boolean {
    return this.saved.inspector
  }

  set inspector(value: boolean) {
    this.saved.inspector = value
    this.write()
  }

  get sideBySide(): boolean {
    return this.saved.sideBySide
  }

  set sideBySide(value: boolean) {
    this.saved.sideBySide = value
    this.write()
  }

  get hinted(): boolean {
    return this.saved.hinted
  }

  set hinted(value: boolean) {
    this.saved.hinted = value
    this.write()
  }

  get editor(): string {
    return this.saved.editor
  }

  set editor(value: string) {
    this.saved.editor = value
    this.write()
  }

  private write(): void {
    try {
      localStorage.setItem(key, JSON.stringify(this.saved))
    } catch {
      // Storage is full or forbidden: the choice lasts as long as the page.
    }
  }
}

/** Has the styles know a choice; the usual one they have of themselves. */
function mark(name: string, value: string, usual: string): void {
  if (value === usual) delete document.documentElement.dataset[name]
  else document.documentElement.dataset[name] = value
}

function read(): Saved {
  const defaults: Saved = {
    theme: 'system',
    text: 'normal',
    enterSends: !matchMedia('(pointer: coarse)').matches,
    inspector: true,
    sideBySide: false,
    hinted: false,
    editor: '',
  }
  try {
    return { ...defaults, ...(JSON.parse(localStorage.getItem(key) ?? '{}') as Partial<Saved>) }
  } catch {
    return defaults
  }
}
