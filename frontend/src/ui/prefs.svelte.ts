export type Theme = 'system' | 'light' | 'dark'

interface Saved {
  theme: Theme
  /** Whether Enter sends; with a touch keyboard it makes a new line unless chosen. */
  enterSends: boolean
  inspector: boolean
  /** Whether the hint that this device can be told was answered. */
  hinted: boolean
}

const key = 'abide.prefs'

/** What a person chose on this device. */
export class Prefs {
  private saved: Saved = $state(read())

  get theme(): Theme {
    return this.saved.theme
  }

  set theme(theme: Theme) {
    this.saved.theme = theme
    if (theme === 'system') delete document.documentElement.dataset['theme']
    else document.documentElement.dataset['theme'] = theme
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

  get hinted(): boolean {
    return this.saved.hinted
  }

  set hinted(value: boolean) {
    this.saved.hinted = value
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

function read(): Saved {
  const defaults: Saved = {
    theme: 'system',
    enterSends: !matchMedia('(pointer: coarse)').matches,
    inspector: true,
    hinted: false,
  }
  try {
    return { ...defaults, ...(JSON.parse(localStorage.getItem(key) ?? '{}') as Partial<Saved>) }
  } catch {
    return defaults
  }
}
