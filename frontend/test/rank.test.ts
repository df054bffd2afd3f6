import { expect, test } from 'vitest'
import { rank } from '../src/ui/rank'

const entries = [
  { name: 'Copy link', also: 'address share url' },
  { name: 'Fork…', also: 'branch copy duplicate' },
  { name: 'Keys', hint: '?', also: 'help shortcuts keyboard' },
  { name: 'Devices and tokens', also: 'sign out log out revoke' },
]
const named = (words: string) => rank(words, entries).map((e) => e.name)

test('an entry is found by the beginnings of its synonyms, after those whose name has the word', () => {
  expect(named('copy')).toEqual(['Copy link', 'Fork…'])
  expect(named('shortc')).toEqual(['Keys'])
  expect(named('sign out')).toEqual(['Devices and tokens'])
  expect(named('hrtcts'), 'synonyms are not guessed from scattered letters').toEqual([])
})
