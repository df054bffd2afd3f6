// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest'
import { choicesFor, rememberJob } from '../src/ui/jobs/before'

beforeEach(() => localStorage.clear())

test('a new job begins with the choices of the last one in its folder', () => {
  expect(choicesFor('/a', {}, {})).toEqual({})
  rememberJob('/a', { preset: 'edit', agent: 'claude', prompt: 'not this' })
  rememberJob('/b', { here: 'yes' })
  expect(choicesFor('/a', {}, {})).toEqual({ preset: 'edit', agent: 'claude' })
  expect(choicesFor('/b', {}, {})).toEqual({ here: 'yes' })
})

test('another folder changes what was remembered, and nothing that the person chose', () => {
  rememberJob('/a', { preset: 'edit', agent: 'claude' })
  const given = choicesFor('/a', {}, {})
  expect(choicesFor('/c', given, given)).toEqual({ preset: '', agent: '' })
  expect(choicesFor('/c', { ...given, agent: 'demo' }, given)).toEqual({ preset: '' })
  expect(choicesFor('/a', { preset: 'read' }, {})).toEqual({ agent: 'claude' })
})

test('what is no memory of jobs is ignored', () => {
  for (const kept of ['{', '7', '[7]', '[["/a", null]]', '[["/a", {"preset": 7}]]']) {
    localStorage.setItem('abide.jobs', kept)
    expect(choicesFor('/a', {}, {})).toEqual({})
  }
})
