import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Makes the folder a git repository, unless it is one. Returns a function that runs git in it, for its output. */
export function repository(folder: string): (...args: string[]) => string {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
      cwd: folder,
      stdio: 'pipe',
      encoding: 'utf8',
    })
  if (!existsSync(join(folder, '.git'))) git('init', '-q', '-b', 'garden')
  return git
}
