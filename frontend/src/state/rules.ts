import type { Rule, RuleScope, ToolKind } from '../wire/gen'
import { own } from './own'

const kinds: Partial<Record<ToolKind, string>> = {
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

/** Whether reads are allowed by a rule as far as that scope reaches. */
export function readsAllowed(rules: readonly Rule[], scope: RuleScope): boolean {
  return rules.some(
    (r) =>
      r.kind === 'read' &&
      !r.subject &&
      !r.suspended &&
      r.effect === 'allow' &&
      (r.scope === scope || r.scope === 'agent'),
  )
}
