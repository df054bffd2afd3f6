import type { Attachment } from 'svelte/attachments'

/**
 * Keeps a select at a value when its options change. The framework's own way would be a part of
 * every start, and no start shows a select.
 */
export function choosing(
  value: string | undefined,
  _options: readonly unknown[],
): Attachment<HTMLSelectElement> {
  return (select) => {
    select.value = value ?? ''
  }
}
