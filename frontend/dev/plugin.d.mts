import type { Plugin } from 'vite'
export function mockHub(): Plugin
