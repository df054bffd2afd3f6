// Finding in a session: the field and the marks in the feed.
export { default as Find } from './Find.svelte'
export { default as Marks } from '../parts/Marks.svelte'
