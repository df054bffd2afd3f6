/** Called once the first screen is in the page. */
export let calmed: () => void

const calm = new Promise<void>((resolve) => (calmed = () => setTimeout(resolve, 50)))

/** Loads a part that the first screen does without: not before that has been painted. */
export const later =
  <T>(load: () => Promise<T>) =>
  () =>
    calm.then(load)
