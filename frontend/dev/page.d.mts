export const pageFile: string
export function pageScript(): Promise<string>
