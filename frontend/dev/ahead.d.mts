import type { Plugin } from 'vite'
export function sessionAhead(): Plugin
