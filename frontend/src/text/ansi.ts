/** A run of terminal output in one style. Colours are classes, because the page's policy allows no inline style. */
export interface Span {
  text: string
  classes: string
  /** Set for colours outside the 16 named ones; for CSSOM, as #rrggbb. */
  color?: string
  background?: string
}

interface Style {
  flags: Set<string>
  fg: string | number | null
  bg: string | number | null
}

const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']
const on: Record<number, string> = {
  1: 'bold',
  2: 'dim',
  3: 'italic',
  4: 'underline',
  7: 'inverse',
  9: 'strike',
}
const off: Record<number, string[]> = {
  22: ['bold', 'dim'],
  23: ['italic'],
  24: ['underline'],
  27: ['inverse'],
  29: ['strike'],
}

// CSI, OSC and the other escapes. Only SGR ("m") is obeyed; the rest vanishes:
// output may colour itself but not move the cursor, set titles or make links.
// eslint-disable-next-line no-control-regex
const escape =
  /\x1b(?:\[([0-9;:?<=>]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\|$)|[PX^_][^\x1b]*(?:\x1b\\|$)|\[?[0-9;:?]*$|[ -/]*[0-Z\\-~])/g

/** Splits output into styled runs. Escapes other than colours are dropped, and \r overwrites its line. */
export function parseAnsi(output: string): Span[] {
  const spans: Span[] = []
  const style: Style = { flags: new Set(), fg: null, bg: null }
  let at = 0
  const emit = (text: string) => {
    const shown = clean(text)
    if (shown !== '') spans.push(span(shown, style))
  }
  const source = overwrite(output)
  for (const match of source.matchAll(escape)) {
    emit(source.slice(at, match.index))
    at = match.index + match[0].length
    if (match[2] === 'm') sgr(style, match[1] ?? '')
  }
  emit(source.slice(at))
  return spans
}

/** A progress bar redraws its line with \r: only the last drawing stays. */
function overwrite(output: string): string {
  if (!output.includes('\r')) return output
  return output
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => {
      const bare = line.replace(/\r+$/, '')
      return bare.slice(bare.lastIndexOf('\r') + 1)
    })
    .join('\n')
}

function clean(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '')
}

function sgr(style: Style, params: string): void {
  const codes = params.split(/[;:]/).map((p) => (p === '' ? 0 : Number(p)))
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!
    if (code === 0) {
      style.flags.clear()
      style.fg = style.bg = null
    } else if (on[code]) style.flags.add(on[code])
    else if (off[code]) for (const flag of off[code]) style.flags.delete(flag)
    else if (code >= 30 && code <= 37) style.fg = code - 30
    else if (code >= 90 && code <= 97) style.fg = code - 90 + 8
    else if (code >= 40 && code <= 47) style.bg = code - 40
    else if (code >= 100 && code <= 107) style.bg = code - 100 + 8
    else if (code === 39) style.fg = null
    else if (code === 49) style.bg = null
    else if (code === 38 || code === 48) {
      const [colour, used] = extended(codes.slice(i + 1))
      if (code === 38) style.fg = colour
      else style.bg = colour
      i += used
    }
  }
}

function extended(codes: number[]): [string | number | null, number] {
  if (codes[0] === 5) {
    const n = codes[1] ?? 0
    if (n < 16) return [n, 2]
    if (n >= 232) return [hex(Array(3).fill(8 + (n - 232) * 10)), 2]
    const cube = n - 16
    return [
      hex([cube / 36, cube / 6, cube].map((c) => [0, 95, 135, 175, 215, 255][Math.floor(c) % 6] ?? 0)),
      2,
    ]
  }
  if (codes[0] === 2) return [hex(codes.slice(1, 4)), 4]
  return [null, 0]
}

function hex(rgb: number[]): string {
  return (
    '#' +
    rgb
      .map((c) =>
        Math.max(0, Math.min(255, c | 0))
          .toString(16)
          .padStart(2, '0'),
      )
      .join('')
  )
}

function span(text: string, { flags, fg, bg }: Style): Span {
  const classes = [...flags]
  const named = (kind: string, n: number) => classes.push(`${kind}-${n === 8 ? 'grey' : names[n % 8]}`)
  if (typeof fg === 'number') named('fg', fg)
  if (typeof bg === 'number') named('bg', bg)
  return {
    text,
    classes: classes.join(' '),
    ...(typeof fg === 'string' ? { color: fg } : {}),
    ...(typeof bg === 'string' ? { background: bg } : {}),
  }
}

/** The last characters of a text, without the rest of an escape sequence that begins before them. */
export function ending(text: string, most: number): string {
  const from = text.length - most
  if (from <= 0) return text
  const cut = /\x1b(\[[\d;]*)?$/.test(text.slice(Math.max(0, from - 24), from))
  return text.slice(from).replace(cut ? /^\[?[\d;]*[A-Za-z]?/ : /^[\udc00-\udfff]/, '')
}
