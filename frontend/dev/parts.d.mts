import type { Rolldown } from 'vite'

export function sessionWhole(): Rolldown.CodeSplittingOptions
