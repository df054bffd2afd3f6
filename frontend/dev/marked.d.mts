import type { Plugin } from 'vite'

export function plainMarked(): Plugin
