// The actions on sessions in the list, loaded with the first one.
export { default as Acts } from './Acts.svelte'
export { default as Filters } from './Filters.svelte'
export { fits, groupsOf } from './filter'
