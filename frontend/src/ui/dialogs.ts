// The dialogs, which are loaded together when the first is opened.
export { default as Help } from './Help.svelte'
export { default as NewSession } from './list/NewSession.svelte'
export { default as Palette } from './Palette.svelte'
export { default as AgentPanel } from './session/AgentPanel.svelte'
export { default as Rules } from './session/Rules.svelte'
export { default as SessionMenu } from './session/SessionMenu.svelte'
export { default as Schedule } from './session/Schedule.svelte'
export { default as OptionsSheet } from './session/OptionsSheet.svelte'
