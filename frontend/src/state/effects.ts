import type { PermissionKind, PermissionOption } from '../wire/gen'
import { own } from './own'

const words: Record<PermissionKind, string> = {
  allow_once: t`Allow once`,
  allow_always: t`Always allow`,
  reject_once: t`Reject once`,
  reject_always: t`Always reject`,
}

/** Names that describe their kind by themselves. */
const plain: Record<PermissionKind, readonly string[]> = {
  allow_once: ['allow', 'allow once'],
  allow_always: ['always allow', 'allow always'],
  reject_once: ['reject', 'reject once'],
  reject_always: ['always reject', 'reject always'],
}

/** The effect of an option. The name is the agent's word and may say another thing. */
export function effectOf(option: PermissionOption): string {
  return own(words, option.kind) ?? t`Other answer`
}

/** Whether an option has a name that can be read. */
export function named(option: PermissionOption): boolean {
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(option.name)
}

/** Whether the name alone describes the effect of the option. */
export function saysItself(option: PermissionOption): boolean {
  return (own(plain, option.kind) ?? []).includes(option.name.trim().toLowerCase())
}

/** Whether an option counts for this request alone, in the protocol's own words. */
export function countsOnce(option: PermissionOption): boolean {
  return option.kind === 'allow_once' || option.kind === 'reject_once'
}

/** The one answer that can be kept as a rule: the option that allows this request alone. */
export function remembered(options: readonly PermissionOption[]): PermissionOption | undefined {
  return options.find((o) => o.kind === 'allow_once')
}
