import type { Renderer } from '../markdown/render'

type Make = (element: HTMLElement) => Renderer

let loading: Promise<Make> | undefined

/** Loads the parser, the sanitiser and the highlighter's front, once. */
export function loadMarkdown(): Promise<Make> {
  loading ??= Promise.all([import('../markdown/render'), import('../markdown/highlight')]).then(
    ([{ Renderer }, { highlight }]) =>
      (element) =>
        new Renderer(element, highlight),
  )
  return loading
}

/** The screens that are not needed to show the list. */
export const loadSession = () => import('./session/Session.svelte')
export const loadSettings = () => import('./Settings.svelte')
export const loadPalette = () => import('./Palette.svelte')
export const loadRules = () => import('./session/Rules.svelte')
export const loadAgent = () => import('./session/AgentPanel.svelte')
export const loadSchedule = () => import('./session/Schedule.svelte')
export const loadHelp = () => import('./Help.svelte')
export const loadTextSearch = () => import('./list/TextSearch.svelte')
export const loadNewSession = () => import('./list/NewSession.svelte')
