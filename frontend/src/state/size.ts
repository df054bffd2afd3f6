const encoder = new TextEncoder()

/** A frame's names and ids, and those of 20 files, beside the text in it. */
const aroundMax = 8 * 1024
/** No character of a text takes more bytes of a frame: `\u0000`. */
const perCharMax = 6

/** How many bytes a value takes in a frame. */
export function frameBytes(value: unknown): number {
  return encoder.encode(JSON.stringify(value)).length
}

/** Whether a prompt of this text may be more than a hub takes in one frame of `max` bytes. */
export function exceeds(text: string, max: number): boolean {
  // Most texts are too short to be worth the encoding at each key.
  if (text.length * perCharMax + aroundMax <= max) return false
  return frameBytes(text) + aroundMax > max
}

/** The problem of a frame of so many bytes, and its remedy, in words for a person. */
export function tooLong(bytes: number, max: number): string {
  const most = max < bytes ? t`and the hub takes at most ${roundUp(max)}` : t`more than the hub takes`
  return t`This is ${roundUp(bytes)}, ${most} at once. Shorten it, or put it into a file and attach that.`
}

function roundUp(bytes: number): string {
  return t`${Math.ceil(bytes / 1024).toLocaleString('en')} KB`
}
