export const pageFile: string
export const styleFile: string
export function pageParts(): Promise<{ script: string; style: string }>
