import { expect, test } from 'vitest'
import { repeatsSaid } from '../src/text/repeats'

test.each([
  ['10s', 'Every 10 seconds'],
  ['90s', 'Every 90 seconds'],
  ['1m', 'Every minute'],
  ['1h0m0s', 'Every hour'],
  ['1h30m', 'Every 90 minutes'],
  ['24h', 'Every day'],
  ['168h', 'Every 7 days'],
  ['1.5h', 'Every 1.5h'],
])('every %s', (every, said) => expect(repeatsSaid({ every })).toBe(said))

test.each([
  ['0 9 * * 1-5', 'Every weekday at 9:00'],
  ['05 14 * * *', 'Every day at 14:05'],
  ['30 7 * * 0', 'Every Sunday at 7:30'],
  ['5 * * * *', 'Every hour at minute 5'],
  ['*/5 * * * *', 'Cron: */5 * * * *'],
  ['0 9 1 * *', 'Cron: 0 9 1 * *'],
  ['0 9 * 2 1', 'Cron: 0 9 * 2 1'],
  ['0 9,17 * * *', 'Cron: 0 9,17 * * *'],
  ['0 9 * * MON', 'Cron: 0 9 * * MON'],
])('cron %s', (cron, said) => {
  expect(repeatsSaid({ cron, zone: 'Europe/Berlin' })).toBe(`${said} (Europe/Berlin)`)
  expect(repeatsSaid({ cron })).toBe(`${said} (the hub’s time)`)
})
