import { expect, test } from 'vitest'
import { jobOf, partOf } from '../src/ui/jobs/request'

const models = [
  { id: 'big', name: 'Big' },
  { id: 'small', name: 'Small' },
]
const choices = {
  agents: [
    {
      name: 'one',
      models,
      modes: [
        { id: 'ask', name: 'Ask' },
        { id: 'auto', name: 'Auto' },
      ],
    },
    { name: 'two', models },
  ],
  workspaces: ['/src'],
  default_workspace: '/src',
}
const plain = { workspace: '/src', task: 'do it', policy: { preset: 'read' }, caps: {} }

test('an untouched form asks for the defaults of the hub', () => {
  expect(jobOf(choices, { prompt: 'do it' })).toEqual({ ...plain, agent: 'one' })
  expect(jobOf(null, { prompt: 'do it' })).toBeUndefined()
})

test('each limit is sent in the unit of the hub', () => {
  const fields = {
    minutes: '5',
    silent: '2',
    rounds: '3',
    tokens: '4',
    cost: '0.5',
    events: '6',
    output: '7',
  }
  expect(jobOf(choices, { prompt: 'do it', ...fields })?.caps).toEqual({
    wall_s: 300,
    round_s: 120,
    rounds: 3,
    tokens: 4,
    cost: 0.5,
    events: 6,
    output_bytes: 7 * 1024 * 1024,
  })
})

test('an auditor, how long it is kept and the other choices are sent', () => {
  const fields = { auditor: 'review', retention: '168h', park: 'yes', auto: 'yes', here: 'yes' }
  expect(jobOf(choices, { prompt: 'do it', ...fields })).toEqual({
    ...plain,
    agent: 'one',
    policy: { preset: 'read', outside: 'park' },
    auditor: 'review',
    retention: '168h',
    resume: 'auto',
    worktree: false,
  })
})

const attempts = (attempts: string, others: unknown, more = {}) =>
  jobOf(choices, { prompt: 'do it', attempts, others: JSON.stringify(others), ...more })

test('attempts of one agent begin as the first does', () => {
  const picked = { mode: 'auto', model: 'big' }
  expect(attempts('2', [], picked)).toEqual({ ...plain, agent: 'one', ...picked, attempts: 2 })
  expect(attempts('1', [{ agent: 'two', model: 'big' }])).toEqual({ ...plain, agent: 'one' })
})

test('attempts of several models and agents have theirs in turn', () => {
  const small = { agent: '', model: 'small' }
  expect(attempts('3', [small], { model: 'big' })).toEqual({
    ...plain,
    agent: 'one',
    attempts: 3,
    models: ['big', 'small', 'big'],
  })
  const two = { agent: 'two', model: '' }
  expect(attempts('2', [two], { mode: 'auto' })).toEqual({ ...plain, agents: ['one', 'two'], attempts: 2 })
  expect(attempts('3', [two, small], { model: 'big' })).toEqual({
    ...plain,
    agents: ['one', 'two', 'one'],
    attempts: 3,
    models: ['big', '', 'small'],
  })
})

test('what is kept of the form and cannot be read is left out', () => {
  expect(jobOf(choices, { prompt: 'do it', attempts: '9', others: '{' })).toMatchObject({ attempts: 4 })
  expect(jobOf(choices, { prompt: 'do it', attempts: 'x', others: '[1]' })).toEqual({
    ...plain,
    agent: 'one',
  })
})

test('what the hub refuses is said at its part of the form', () => {
  expect(
    ['auditor', 'attempts', 'policy.preset', 'agent', 'workspace', 'worktree', 'task', 'files'].map(partOf),
  ).toEqual(['auditor', 'attempts', 'preset', 'place', 'place', 'place', 'task', 'task'])
  expect([partOf('caps'), partOf(undefined), partOf('constructor')]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})
