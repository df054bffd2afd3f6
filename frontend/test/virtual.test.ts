import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Fenwick } from '../src/virtual/fenwick'
import { RowWindow } from '../src/virtual/window'

describe('the tree of heights', () => {
  it('keeps each height, however often it has grown', () => {
    const tree = new Fenwick(2)
    for (let i = 0; i < 100; i++) tree.push(i)
    expect(Array.from({ length: 100 }, (_, i) => tree.get(i))).toEqual(
      Array.from({ length: 100 }, (_, i) => i),
    )
    for (let i = 0; i < 100; i++) tree.set(i, 1)
    expect(tree.sum(100)).toBe(100)
  })

  it('agrees with a plain list of numbers', () => {
    const op = fc.oneof(
      fc.nat(99).map((v) => ({ do: 'push' as const, v })),
      fc.tuple(fc.nat(500), fc.nat(99)).map(([i, v]) => ({ do: 'set' as const, i, v })),
      fc.nat(30).map((n) => ({ do: 'truncate' as const, n })),
    )
    fc.assert(
      fc.property(fc.array(op, { maxLength: 700 }), fc.nat(3000), (ops, at) => {
        const tree = new Fenwick(2)
        const list: number[] = []
        for (const o of ops) {
          if (o.do === 'push') {
            tree.push(o.v)
            list.push(o.v)
          } else if (o.do === 'truncate') {
            const n = Math.max(0, list.length - o.n)
            tree.truncate(n)
            list.length = n
          } else if (list.length > 0) {
            tree.set(o.i % list.length, o.v)
            list[o.i % list.length] = o.v
          }
        }
        for (let n = 0; n <= list.length; n += 7)
          expect(tree.sum(n)).toBe(list.slice(0, n).reduce((a, b) => a + b, 0))
        let sum = 0
        let expected = list.findIndex((v) => (sum += v) > at)
        if (expected < 0) expected = Math.max(0, list.length - 1)
        expect(tree.find(at)).toBe(expected)
      }),
      { numRuns: 300 },
    )
  })
})

const rows = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({ key: `k${from + i}` }))

describe('the window of rows', () => {
  const make = () => {
    const w = new RowWindow<{ key: string }>(() => 50)
    w.sync(rows(100, 200))
    return w
  }

  it('contains the rows in view and a margin', () => {
    expect(make().range(1000, 500, 100)).toEqual({ from: 18, to: 33, above: 900, below: 5000 - 1650 })
  })

  it('keeps the reader in place when older rows are prepended', () => {
    const w = make()
    const anchor = w.anchorAt(1020)!
    w.sync(rows(0, 200))
    expect(w.topOf(anchor)).toBe(1020 + 100 * 50)
  })

  it('keeps the reader in place when a row above turns out taller', () => {
    const w = make()
    const anchor = w.anchorAt(1020)!
    expect(w.measure('k105', 90)).toBe(true)
    expect(w.topOf(anchor)).toBe(1060)
    expect(w.measure('k105', 90)).toBe(false)
  })

  it('remembers heights through changes of the list', () => {
    const w = make()
    w.measure('k150', 500)
    w.sync(rows(0, 300))
    expect(w.total).toBe(300 * 50 + 450)
  })

  it('takes a changed end and appended rows', () => {
    const w = make()
    w.sync([...rows(100, 198), { key: 'x' }, { key: 'y' }, { key: 'z' }])
    expect([w.total, w.indexOf('z'), w.indexOf('k199')]).toEqual([101 * 50, 100, -1])
  })
})
