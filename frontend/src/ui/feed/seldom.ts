// What a call's body seldom shows.
export { default as Json } from './Json.svelte'
export { default as Large } from './Large.svelte'
export { default as LargeDiff } from './LargeDiff.svelte'
