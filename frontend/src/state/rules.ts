import type { Rule, ToolKind } from '../wire/gen'
import { own } from './own'

/** The kinds of calls that a rule can be about. */
export const kinds: Partial<Record<ToolKind, string>> = {
  read: t`reads`,
  edit: t`edits`,
  delete: t`deletions`,
  move: t`moves`,
  search: t`searches`,
  execute: t`commands`,
  fetch: t`fetches`,
  switch_mode: t`changes of mode`,
}

/** The subject of a rule. */
export function aboutOf(rule: Rule): string {
  if (rule.subject) return rule.title || t`One request, exactly as it was`
  return t`All ${rule.kind ? (own(kinds, rule.kind) ?? t`calls of kind ${rule.kind}`) : t`requests`}`
}

/** Whether a rule gives that answer to all calls of that kind as far as that scope reaches. */
export function ruled(
  rules: readonly Rule[],
  { scope, effect, kind }: Pick<Rule, 'scope' | 'effect' | 'kind'>,
): boolean {
  return rules.some(
    (r) =>
      r.kind === kind &&
      !r.subject &&
      !r.suspended &&
      r.effect === effect &&
      (r.scope === scope || r.scope === 'agent'),
  )
}
