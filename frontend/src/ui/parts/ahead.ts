import type { Component } from 'svelte'

type Part = Component<Record<string, unknown>>
/** Loads a part of the app; each is a function of its own, by which a loaded part is recognised. */
export type Load = () => Promise<{ default: Component<never> }>

/**
 * A loaded part is shown at once from then on: an empty frame before it would be visible, and move
 * the text.
 */
export const here = new WeakMap<Load, Part>()

/** Loads a part, which is then shown at once. */
export async function ahead(load: Load): Promise<Part> {
  const part = (await load()).default as Part
  here.set(load, part)
  return part
}
