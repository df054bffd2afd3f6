// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { NewDraft, newDraftId } from '../src/ui/list/newdraft.svelte'
import { loadDraft } from '../src/ui/session/drafts'

beforeEach(() => localStorage.clear())
afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

const request = { agent: 'demo', workspace: '/src', name: 'Mine', prompt: 'do it' }

test('the fields a person filled in are there in the next page, and untouched ones are not stored', () => {
  const form = new NewDraft()
  form.write({ prompt: 'half a thought' })
  form.write({ workspace: '' })
  form.leave()
  const next = new NewDraft()
  expect(next.fields).toEqual({ prompt: 'half a thought', workspace: '' })
  next.clear()
  expect(new NewDraft().fields).toEqual({})
  expect(loadDraft(newDraftId)).toBe('')
})

test('a request keeps its key however often it is sent, and gets another once a field changes', () => {
  const form = new NewDraft()
  form.write({ prompt: 'do it' })
  const key = form.key(request)
  expect(form.key(request)).toBe(key)
  expect(new NewDraft().key(request), 'in a page that comes later').toBe(key)
  const keys = Object.keys(request).map((field) => form.key({ ...request, [field]: 'other' }))
  expect(new Set([key, ...keys]).size).toBe(5)
  expect(form.key(request), 'as it was at first').toBe(key)
  form.leave()
  expect(new NewDraft().key(request), 'after Esc').toBe(key)
  form.clear()
  form.write({ prompt: 'do it' })
  expect(form.key(request), 'once its session is there').not.toBe(key)
})

test('a form without a prompt gets another key once it was closed', () => {
  const form = new NewDraft()
  const empty = { agent: 'demo', workspace: '/src' }
  const key = form.key(empty)
  expect(new NewDraft().key(empty), 'after a reload').toBe(key)
  form.leave()
  expect(loadDraft(newDraftId)).toBe('')
  expect(new NewDraft().key(empty)).not.toBe(key)
})

test('the text of another tab is taken over, with its key', () => {
  const [one, two] = [new NewDraft(), new NewDraft()]
  one.write({ prompt: 'do it' })
  const key = one.key(request)
  two.follow(loadDraft(newDraftId))
  expect(two.fields).toEqual({ prompt: 'do it' })
  expect(two.key(request)).toBe(key)
  two.follow('')
  expect(two.fields).toEqual({})
})

test('malformed stored forms are ignored, and a full device is reported', () => {
  for (const text of ['null', '[1]', '{"prompt":1,"agent":"demo","more":"x"}', 'half']) {
    localStorage.setItem(`abide.draft.${newDraftId}`, text)
    expect(new NewDraft().fields).toEqual(text.includes('agent') ? { agent: 'demo' } : {})
  }
  const form = new NewDraft()
  vi.stubGlobal('localStorage', {
    setItem: () => {
      throw new DOMException('full', 'QuotaExceededError')
    },
  })
  form.write({ prompt: 'too much' })
  expect([form.fields.prompt, form.kept]).toEqual(['too much', false])
  const back = new NewDraft() // as after Esc
  expect([back.fields.prompt, back.kept]).toEqual(['too much', false])
  vi.unstubAllGlobals()
  back.clear()
  expect(back.kept).toBe(true)
})

test('a long prompt is written down a moment later, and when the page ends', () => {
  vi.useFakeTimers()
  const form = new NewDraft()
  const long = 'x'.repeat(10_001)
  form.write({ prompt: long })
  expect(new NewDraft().fields).toEqual({})
  form.flush()
  expect(new NewDraft().fields.prompt).toBe(long)
  form.write({ prompt: `${long}y` })
  vi.advanceTimersByTime(500)
  expect(new NewDraft().fields.prompt).toBe(`${long}y`)
})
