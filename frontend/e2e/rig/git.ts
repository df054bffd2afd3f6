import { execFileSync } from 'node:child_process'

/** Makes the folder a git repository. Returns a function that runs git in it. */
export function repository(folder: string): (...args: string[]) => void {
  const git = (...args: string[]) =>
    void execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], {
      cwd: folder,
      stdio: 'pipe',
    })
  git('init', '-q', '-b', 'garden')
  return git
}
