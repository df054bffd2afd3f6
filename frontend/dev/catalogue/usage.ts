// The screen of what sessions used.
import { lastDays } from '../../src/state/usage'
import type { Usage, UsageBudget, UsageRow, UsageSum } from '../../src/wire/gen'
import { opened } from './frames'
import type { State } from './state'

const used = (tokens: number, over: Partial<UsageSum> = {}): UsageSum => ({
  turns: Math.ceil(tokens / 40_000),
  tokens,
  input_tokens: tokens * 0.9,
  output_tokens: tokens * 0.1,
  cached_read_tokens: 0,
  cached_write_tokens: 0,
  costs: [{ amount: tokens / 100_000, currency: 'USD' }],
  tool_calls: Math.ceil(tokens / 9_000),
  duration_ms: tokens * 4,
  ...over,
})
const row = (over: Partial<UsageRow>, sum: UsageSum): UsageRow => ({
  at: '2026-02-21T14:03:07Z',
  used: sum,
  ...over,
})
const of = (by: string, rows: UsageRow[], over: Partial<Usage> = {}): Usage => ({
  by,
  zone: 'CET +01:00',
  rows,
  total: used(2_345_678),
  ...over,
})
const days = lastDays(30, new Date())
  .map((day, i) => row({ day }, used(i % 7 > 4 ? 0 : 20_000 + ((i * 7919) % 13) * 24_000)))
  .filter((r) => r.used.tokens > 0)
const projects = [
  row({ project: '/src/ferry' }, used(1_800_000)),
  row(
    { project: `/src/${'averylongfoldernamewithoutaplacetobreak'.repeat(3)}\u202e` },
    used(545_678, {
      costs: [
        { amount: 3.2, currency: 'EUR' },
        { amount: 1.5, currency: 'USD' },
      ],
    }),
  ),
  row({}, used(0, { turns: 1, unreported: 1, costs: [] })),
]
const agents = [
  row({ agent: 'claude' }, used(2_000_000)),
  row({ agent: 'demo' }, used(345_678, { costs: [] })),
]

const screen = (name: string, answer: (by: string) => Promise<unknown>): State => ({
  name: `usage${name}`,
  path: '/usage',
  messages: [...opened],
  hub: () => ({
    ask: <T>(_: string, path: string) => answer(/by=(\w+)/.exec(path)![1]!) as Promise<T>,
  }),
})
const budget = (project: string, tokens: number, over: Partial<UsageBudget>): UsageBudget => ({
  project,
  tokens,
  warn_at: 0.8,
  used: used(900_000),
  part: 900_000 / tokens,
  until: '2026-02-22T00:00:00Z',
  text: '',
  ...over,
})
const budgets = [
  budget('/src/ferry', 3_000_000, {}),
  budget('/src/lake\u202e', 1_000_000, {}),
  budget(projects[1]!.project!, 800_000, { stop: true }),
  budget('/src/coast', 0, { tokens: undefined!, cost: 4.5, part: 0.2 }),
]
const full: Record<string, Usage> = {
  day: of('day', days),
  project: of('project', projects),
  agent: of('agent', agents),
}

export const usage: State[] = [
  screen('', async (by) => full[by]),
  screen(', budgets', async (by) => ({ ...full[by]!, budgets })),
  screen(', one day, turns without tokens, sessions behind', async (by) =>
    of(by, [row({ [by]: by === 'day' ? lastDays(1, new Date())[0] : 'demo' }, used(900, { costs: [] }))], {
      total: used(900, { unreported: 2, costs: [] }),
      behind: 3,
    }),
  ),
  screen(', nothing', async (by) => of(by, [], { total: used(0) })),
  screen(', not yet', () => new Promise(() => {})),
  screen(', refused', async () => {
    throw new Error('the hub is ending')
  }),
]
