import { expect, it } from 'vitest'
import { contentOf, fieldsOf, missingIn } from '../src/state/form'

const schema = {
  type: 'object',
  required: ['colour', 'name'],
  properties: {
    colour: { type: 'string', title: 'Colour', oneOf: [{ const: 'red', title: 'Red' }, { const: 'blue' }] },
    name: { type: 'string' },
    count: { type: 'integer', default: 3 },
    sure: { type: 'boolean' },
    tags: { type: 'array', items: { enum: ['a', 'b'] }, default: ['b', 7] },
    odd: { type: 'hologram' },
  },
}

it('reads a form, with choices, defaults and unknown field types', () => {
  expect(
    fieldsOf(schema).map((f) => [f.name, f.kind, f.required, f.initial, f.choices.map((c) => c.title)]),
  ).toEqual([
    ['colour', 'choice', true, '', ['Red', 'blue']],
    ['name', 'text', true, '', []],
    ['count', 'number', false, 3, []],
    ['sure', 'boolean', false, false, []],
    ['tags', 'choices', false, ['b'], ['a', 'b']],
    ['odd', 'text', false, '', []],
  ])
})

it('answers with the filled fields, and names the missing ones', () => {
  const fields = fieldsOf(schema)
  const values = { colour: 'red', name: '', count: null, sure: false, tags: ['a'], odd: '' }
  expect(missingIn(fields, values)).toEqual(['name'])
  expect(contentOf(fields, values)).toEqual({ colour: 'red', sure: false, tags: ['a'] })
})

it.each([[undefined], [null], ['x'], [{}], [{ properties: [] }]])('takes %j for no form', (value) => {
  expect(fieldsOf(value)).toEqual([])
})
