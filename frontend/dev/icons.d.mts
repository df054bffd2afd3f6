import type { Plugin } from 'vite'

export function plainIcons(): Plugin
