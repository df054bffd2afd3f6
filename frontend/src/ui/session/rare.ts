// The parts for a session that is archived, cannot be opened or has another history: loaded
// together when first shown.
export { default as Archived } from './Archived.svelte'
export { default as Gone } from './Gone.svelte'
export { default as Replaced } from './Replaced.svelte'
export { default as Shut } from './Shut.svelte'
