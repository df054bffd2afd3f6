/** The part of Lighthouse that the bench uses. Scores are 0 to 1, or null if one could not be computed. */
export default function lighthouse(
  url: string,
  flags: {
    port: number
    disableStorageReset: boolean
    logLevel: 'error'
    onlyCategories: string[]
  },
): Promise<{ lhr: { categories: Record<string, { id: string; score: number | null }> } } | undefined>
