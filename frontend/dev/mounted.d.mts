import type { Plugin } from 'vite'

export function mounted(): Plugin
