import type { RuleScope, ToolKind } from '../wire/gen'
import { own } from './own'

/** A permission rule as the hub lists it: it answers requests in a person's place until it is revoked. */
export interface Rule {
  id: string
  scope: RuleScope
  effect: 'allow' | 'reject'
  agent?: string
  /** Keeps to tool calls of this kind. */
  kind?: ToolKind
  /** Keeps to one thing, by its fingerprint; title says which. */
  subject?: string
  title?: string
  /** The agent was told to remember, too: it may do so after the rule is revoked. */
  agent_told?: boolean
  created_by: string
  created_at: string
  /** The maker's credential has ended or was revoked: it answers nothing. */
  suspended?: boolean
}

/** A rule to be made. */
export type NewRule = Pick<Rule, 'scope' | 'effect' | 'kind' | 'title'>

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
