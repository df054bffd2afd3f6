/** What a refusal wants confirmed; nothing of another error. */
export const needsOf = (error: unknown): readonly string[] =>
  (error as { needs?: readonly string[] } | null)?.needs ?? []
