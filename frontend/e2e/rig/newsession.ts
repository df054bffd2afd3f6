// The folder in the new session form: a chip that opens a dialog with a path field.
import type { Page } from 'playwright-core'

const chip = (page: Page) => page.locator('[data-folder]')

/** Chooses a folder by typing its path. */
export async function writeFolder(page: Page, path: string): Promise<void> {
  await chip(page).press('Enter')
  const field = page.getByRole('dialog', { name: 'Choose a folder' }).getByLabel('Path')
  await field.fill(path)
  await field.press('Enter')
  await field.waitFor({ state: 'detached' })
}

/** The chosen folder. */
export async function folderOf(page: Page): Promise<string> {
  return (await chip(page).getAttribute('title')) ?? ''
}
