// What is done to sessions in the list, loaded when the first of it is asked for.
export { default as Acts } from './Acts.svelte'
export { default as Filters } from './Filters.svelte'
export { fits, groupsOf } from './filter'
