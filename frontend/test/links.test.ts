// @vitest-environment happy-dom
import { expect, test } from 'vitest'
import { elsewhere } from '../src/markdown/links'

test.each([
  ['https://bank.com', 'https://evil.example/', 'evil.example'],
  ['bank.com', 'https://evil.example/x', 'evil.example'],
  ['Log in at www.bank.com/login now', 'https://evil.example/', 'evil.example'],
  ['(https://bank.com).', 'https://evil.example/', 'evil.example'],
  ['https://bank.com@evil.example/', 'https://bank.com@evil.example/', 'evil.example'],
  ['bank.com/https://evil.example', 'https://evil.example/', 'evil.example'],
  ['see:https://bank.com', 'https://evil.example/', 'evil.example'],
  ['BANK\u200b.com', 'https://evil.example/', 'evil.example'],
  ['bank。com', 'https://evil.example/', 'evil.example'],
  ['bank.com∕login', 'https://evil.example/', 'evil.example'],
  ['bank.com.evil.example', 'https://bank.com/', 'bank.com'],
  ['http://localhost:3000', 'http://localhost:4000/', 'localhost:4000'],
  ['10.0.0.1', 'http://10.0.0.2/', '10.0.0.2'],
  ['https://bücher.example', 'https://bucher.example/', 'bucher.example'],
  ['help@bank.com', 'mailto:me@evil.example', 'me@evil.example'],
  ['help@bank.com', 'https://evil.example/', 'evil.example'],
  ['docs.rs/serde', 'https://evil.example/', 'evil.example'],
  ['https://bank.sh', 'https://evil.example/', 'evil.example'],
  ['www.bank.rs', 'https://evil.example/', 'evil.example'],
  ['me@bank.md', 'https://evil.example/', 'evil.example'],
  ['bun.sh', 'https://evil.example/', 'evil.example'],
  ['crates.rs', 'https://evil.example/', 'evil.example'],
  ['README.md', 'https://github.com/a/b', 'github.com'],
  ['README.md on bank.com', 'https://evil.example/', 'evil.example'],
])('%s that goes to %s is said to go to %s', (text, href, place) => {
  expect(elsewhere(text, href)).toBe(place)
})

test.each([
  ['https://bank.com', 'https://bank.com/login'],
  ['https://bank.com/a/README.md?to=other.org', 'https://bank.com/a/README.md?to=other.org'],
  ['www.bank.com', 'http://www.bank.com/'],
  ['bank.com', 'https://www.bank.com/'],
  ['BANK.com, of course', 'https://bank.com/'],
  ['https://bücher.example', 'https://xn--bcher-kva.example/'],
  ['http://localhost:3000', 'http://localhost:3000/'],
  ['me@bank.com', 'mailto:me@bank.com'],
  ['the documentation, e.g. chapter 3.4', 'https://docs.example/'],
  ['version v1.2.3', 'https://docs.example/'],
  ['anything.at.all', 'no address'],
  ['bank.com', ''],
  ['Node.js', 'https://nodejs.org/en'],
  ['the `vite.config.ts`', 'https://vite.dev/'],
  ['src/main.rs', 'https://github.com/a/b'],
  ['README.md', 'docs/README.md'],
  ['bun.sh', 'https://bun.sh/docs'],
  ['main.go:12', 'https://github.com/a/b'],
])('%s that goes to %s says itself where it goes', (text, href) => {
  expect(elsewhere(text, href)).toBeNull()
})
