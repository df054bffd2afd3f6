// The folder of the form for a new session: a chip, and behind it the path.
import type { Page } from 'playwright-core'

const chip = (page: Page) => page.locator('[data-folder]')

/** Types a path in place of the folder. */
export async function writeFolder(page: Page, path: string): Promise<void> {
  await chip(page).press('Enter')
  const field = page.getByRole('dialog', { name: 'Choose a folder' }).getByLabel('Path')
  await field.fill(path)
  await field.press('Enter')
  await field.waitFor({ state: 'detached' })
}

/** The folder that a session would start in. */
export async function folderOf(page: Page): Promise<string> {
  return (await chip(page).getAttribute('title')) ?? ''
}
