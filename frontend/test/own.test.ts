import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { initial, reduce } from '../src/state/app'
import { effectOf, saysItself } from '../src/state/effects'
import { contentOf, fieldsOf, missingIn } from '../src/state/form'
import { aboutOf } from '../src/state/rules'
import { askView } from '../src/state/askview'
import { toolView } from '../src/state/tool'
import { EventCache } from '../src/net/cache'
import type { Database } from '../src/net/db'
import { kindOf } from '../src/ui/feed/kinds'
import type { PermissionOption, Rule, ToolKind } from '../src/wire/gen'
import { foreign, named, strange } from '../dev/catalogue/strange'

describe.each(foreign)('an agent that names everything %s', (name) => {
  it('offers answers of an unknown kind', () => {
    const option = { option_id: name, name, kind: name } as unknown as PermissionOption
    expect(effectOf(option)).toBe('Other answer')
    expect(saysItself(option)).toBe(false)
  })

  it('makes calls of the kind "other"', () => {
    expect(kindOf(name as ToolKind)).toBe(kindOf('other'))
    const rule = { kind: name } as unknown as Rule
    expect(aboutOf(rule)).toBe(`All calls of kind ${name}`)
  })

  it('asks for a value of that name, which is missing until it is given', () => {
    const schema = JSON.parse(
      `{"properties":{"${name}":{"type":"string"}},"required":["${name}"]}`,
    ) as unknown
    const fields = fieldsOf(schema)
    expect(fields.map((f) => f.name)).toEqual([name])
    const values = (value: string) => Object.fromEntries([[name, value]])
    expect(missingIn(fields, values(''))).toEqual([name])
    expect(missingIn(fields, values('x'))).toEqual([])
    expect(Object.entries(contentOf(fields, values('x')))).toEqual([[name, 'x']])
  })

  it('has no entry in the cache before one is stored', () => {
    const cache = new EventCache({} as Database, { getItem: () => '{}' } as unknown as Storage)
    expect(cache.hint(name)).toBeNull()
  })

  it('is applied and described in every event it can send', () => {
    const { messages } = named(name)
    const state = messages.reduce(reduce, initial)
    const session = [...state.sessions.values()][0]!
    const kinds = new Set<string>()
    for (const item of session.feed.items) {
      kinds.add(item.kind)
      if (item.kind === 'tool') expect(toolView(item).title).not.toBe('')
      if (item.kind === 'permission' && item.ask) askView(item.ask, undefined)
    }
    expect([...kinds].sort()).toEqual([
      'content',
      'event',
      'permission',
      'plan',
      'prompt',
      'terminal',
      'text',
      'tool',
      'turn_end',
      'unknown',
    ])
  })
})

it('the catalogue shows such an agent with every one of these names', () => {
  expect(strange.map((s) => s.name).join()).toContain('constructor')
})

// Lookups in a table go through `own`, because a key from an agent may be a property of Object.prototype.
it('no table of the app is indexed by a foreign name without checking that it is an own property', () => {
  const src = join(__dirname, '../src')
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((f) =>
    /\.(ts|svelte)$/.test(f),
  )
  const found: string[] = []
  for (const file of files) {
    const text = readFileSync(join(src, file), 'utf8')
    const tables = [...text.matchAll(/const (\w+): (?:Readonly<)?(?:Partial<)?Record<(\w+)/g)]
    for (const [, table, names] of tables) {
      // Numbers, and names that the app itself chose, cannot collide.
      if (
        ['number', 'Act', 'Action', 'Format', 'Method', 'Redaction'].includes(names!) ||
        table === 'escapes'
      )
        continue
      // An assignment is not a lookup.
      if (new RegExp(`(?<![\\w.])${table}\\[[^\\]]+\\](?! =)`).test(text))
        found.push(`${relative('.', file)}: ${table}`)
    }
  }
  expect(found).toEqual([])
})
