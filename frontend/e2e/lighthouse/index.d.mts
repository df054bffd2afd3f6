/** Lighthouse, as far as the bench uses it: scores are 0 to 1, null where one could not be had. */
export default function lighthouse(
  url: string,
  flags: {
    port: number
    disableStorageReset: boolean
    logLevel: 'error'
    onlyCategories: string[]
  },
): Promise<{ lhr: { categories: Record<string, { id: string; score: number | null }> } } | undefined>
