import { ahead } from '../parts/ahead'
import { loadPermission } from '../lazy'

export const loadForm = () => import('./AskForm.svelte')

/** A question with a form: both parts, so that the sheet has its height at once. */
export const loadAsked = async () => {
  await ahead(loadForm)
  return loadPermission()
}
