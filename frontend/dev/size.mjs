// Measures the built app against its budgets; exits with 1 if one is exceeded.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const dist = process.env['ABIDE_DIST'] ?? fileURLToPath(new URL('../dist', import.meta.url))
const files = (folder) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((f) =>
    f.isDirectory() ? files(join(folder, f.name)) : [join(folder, f.name)],
  )
const all = files(dist)
const zipped = (names) =>
  names.reduce((sum, name) => sum + gzipSync(readFileSync(name), { level: 9 }).length, 0)
const assets = (...names) =>
  all.filter((file) => names.some((name) => new RegExp(`assets/${name}-[\\w-]+\\.js$`).test(file)))

// index.html names the files of the start. The session screen and the Markdown parser, with their
// imports, are loaded while the app makes its first connection.
const page = readFileSync(join(dist, 'index.html'), 'utf8')
const named = [...page.matchAll(/ (?:src|href)="\/([^"]+\.js)"/g)].map((m) => join(dist, m[1]))
const styles = [...page.matchAll(/ href="\/([^"]+\.css)"/g)].map((m) => join(dist, m[1]))
const initial = new Set(all.filter((file) => named.includes(file)))
const imports = (file) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import)\s*["']\.\/([\w.-]+\.js)["']/g)].map((m) =>
    join(dist, 'assets', m[1]),
  )
const closure = (start) => {
  const seen = new Set(start)
  for (const file of seen) for (const next of imports(file)) seen.add(next)
  return [...seen]
}
const rows = [
  ['JavaScript at the start, gzip', zipped(closure(initial)), 60 * 1024],
  [
    'JavaScript to a session on a desktop, gzip',
    zipped(closure([...initial, ...assets('Session', 'prose')])),
    130 * 1024,
  ],
  ['Styles at the start, gzip', zipped(styles), 15 * 1024],
  ['Everything', all.reduce((sum, file) => sum + statSync(file).size, 0), 2 * 1024 * 1024],
]
for (const [what, bytes, most] of rows) {
  console.log(
    `${what.padEnd(42)} ${(bytes / 1024).toFixed(1).padStart(7)} KB of ${(most / 1024).toFixed(0).padStart(4)}  ${bytes <= most ? 'ok' : 'SHORT'}`,
  )
}
process.exit(rows.some(([, bytes, most]) => bytes > most) ? 1 : 0)
