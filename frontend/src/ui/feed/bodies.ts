// What is below the line of a call, in one part of the app: a session without calls does not load it.
export { default as Content } from './Content.svelte'
export { default as Terminal } from './Terminal.svelte'
export { default as ToolBody } from './ToolBody.svelte'
