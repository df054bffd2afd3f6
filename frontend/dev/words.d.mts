import type { Plugin } from 'vite'

export interface Words {
  messages: string[]
  written(say: (message: string) => string): string
}

export const catalogueFile: string
export function wordsIn(text: string, file: string): Words
export function pseudo(message: string): string
export function messages(): string[]
export function catalogue(): Record<string, string>
export const workerFile: string
export function saying(mode: string): (message: string) => string
export function words(): Plugin
