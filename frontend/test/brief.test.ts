import { describe, expect, it } from 'vitest'
import { brief, firstLine, verbOf } from '../src/ui/feed/brief'

const blank = '\n'.repeat(60)
const many = Array.from({ length: 30 }, (_, i) => `step ${i}`).join('\n')

describe('a command in a closed card', () => {
  it('is whole where it is short', () => {
    expect(brief('make\nmake test')).toEqual({ text: 'make\nmake test', of: 0 })
    expect(brief('make\nmake test\n')).toEqual({ text: 'make\nmake test', of: 0 })
  })

  it('begins at its first line that is not blank, and shows that it is cut', () => {
    expect(brief(`${blank}rm -rf build`)).toEqual({ text: 'rm -rf build', of: 61 })
    expect(brief(`echo${blank}rm -rf build`)).toEqual({ text: 'echo\n\nrm -rf build', of: 61 })
  })

  it('is cut after eight lines', () => {
    const { text, of } = brief(many)
    expect(text.split('\n')).toHaveLength(8)
    expect(of).toBe(30)
  })

  it('of blank lines only is empty', () => {
    expect(brief(blank)).toEqual({ text: '', of: 0 })
  })

  it('is named by its first line that is not blank', () => {
    expect(firstLine(`${blank}  rm -rf build\nls`)).toBe('rm -rf build')
    expect(firstLine('')).toBe('')
  })
})

it('a title that ends with its file’s path is split into verb and path', () => {
  const paths = ['/home/kim/app/src/main.go', 'src/main.go']
  expect(verbOf('Edit src/main.go', paths)).toBe('Edit')
  expect(verbOf('Edit `/home/kim/app/src/main.go`', paths)).toBe('Edit')
  expect(verbOf('Look at src/main.go and more', paths)).toBeNull()
  expect(verbOf('src/main.go', paths)).toBeNull()
  expect(verbOf('A long sentence about the file src/main.go', paths)).toBeNull()
})
