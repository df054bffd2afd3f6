import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { causeWords } from '../src/state/cause'
import type { InterruptReason } from '../src/wire/gen'

test('a cause has the words that the hub says it with', () => {
  const go = readFileSync(resolve(__dirname, '../../session/event/enum.go'), 'utf8')
  const reasons = new Map(
    [...go.matchAll(/(Cut\w+)\s+InterruptReason = "(\w+)"/g)].map(([, name, id]) => [name, id]),
  )
  const words = [...go.matchAll(/case (Cut\w+):\s+return "([^"]+)"/g)]
  expect(words.length).toBe(reasons.size)
  for (const [, name, said] of words) expect(causeWords(reasons.get(name) as InterruptReason)).toBe(said)
  expect(go).toContain(`return "${causeWords('another' as InterruptReason)}"`)
})
