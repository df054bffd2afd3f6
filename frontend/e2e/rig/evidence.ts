// The evidence for a failed test, gathered while its pages are still open.
import type { Page } from 'playwright-core'

/** A source of evidence: a hub, a browser or a page. It is asked only when a test fails. */
export interface Witness {
  testify(): string | Promise<string>
}

/** Global, because vitest loads its runner and the tests as separate modules, which share only globalThis. */
const witnesses: Set<Witness> = ((globalThis as { witnesses?: Set<Witness> }).witnesses ??= new Set())

/** Registers a witness: it is asked if a test fails before it is dismissed. */
export function call(witness: Witness): void {
  witnesses.add(witness)
}

export function dismiss(witness: Witness): void {
  witnesses.delete(witness)
}

/** The evidence of all witnesses. A witness that does not answer within 3 s, such as a frozen browser, is skipped. */
export async function evidence(): Promise<string> {
  const said = await Promise.all(
    [...witnesses].map((witness) => {
      const silence = new Promise<string>((resolve) =>
        setTimeout(resolve, 3_000, 'a witness does not answer').unref(),
      )
      return Promise.race([Promise.resolve(witness.testify()).catch(String), silence])
    }),
  )
  return said.join('\n')
}

/** Registers a page as a witness until it is closed. */
export function watchPage(page: Page): void {
  const said: string[] = []
  page.on('console', (m) => said.push(`${m.type()}: ${m.text()} ${m.location().url}`))
  page.on('pageerror', (error) => said.push(`error: ${error.stack ?? error}`))
  page.on('requestfailed', (r) => said.push(`failed: ${r.url()} ${r.failure()?.errorText}`))
  page.on('crash', () => said.push('the page crashed'))
  const witness = {
    testify: async () => {
      const head = `page ${page.url()}\n${indent(said.slice(-20).join('\n'))}`
      const shown = await Promise.race([
        page.evaluate(() => ({
          ...document.documentElement.dataset,
          text: document.body?.innerText.slice(-800),
        })),
        new Promise<string>((resolve) => setTimeout(resolve, 2_000, 'it does not answer').unref()),
      ]).catch(String)
      return `${head}\n${indent(typeof shown === 'string' ? shown : JSON.stringify(shown))}`
    },
  }
  call(witness)
  page.once('close', () => dismiss(witness))
}

/** The last lines of a process's output, as evidence. */
export function tail(text: string, lines = 30): string {
  return indent(text.trimEnd().split('\n').slice(-lines).join('\n'))
}

function indent(text: string): string {
  return text === '' ? '' : text.replace(/^/gm, '    ')
}
