import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { rawOutput } from '../src/state/rawoutput'
import { readTool } from '../src/state/tool'

interface Example {
  about: string
  status: 'failed' | 'completed'
  raw: unknown
  shown?: string
  want: string
}

/** The examples that the hub's TestTheOutputOfACommandThatFailedIsShownOnce walks, too. */
const file = resolve(__dirname, '../../session/event/testdata/raw_output.json')
const examples = JSON.parse(readFileSync(file, 'utf8')) as Example[]

it.each(examples)('shows the output of a command: $about', ({ status, raw, shown, want }) => {
  expect(rawOutput(raw, status === 'failed', shown ?? '')).toBe(want)
  const content = shown ? [{ type: 'content', content: { type: 'text', text: shown } }] : undefined
  expect(readTool({ status, rawOutput: raw, content } as Parameters<typeof readTool>[0]).output).toBe(
    [shown, want].filter(Boolean).join('\n'),
  )
})
