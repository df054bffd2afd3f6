import type { NewJob, NewSchedule } from '../../wire/gen'
import type { NewFields } from '../list/newdraft.svelte'

/** The time zone of this device, in which a person means a time of day. */
export const zone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** The schedule of a job as the form has it; undefined for a job that runs once. */
export function scheduleOf(job: NewJob, fields: NewFields): NewSchedule | undefined {
  const { repeat, every = '', unit = 'h', cron = '', overlap, until } = fields
  if (repeat !== 'every' && repeat !== 'cron') return
  const days = unit === 'd'
  return {
    job,
    ...(repeat === 'cron'
      ? { cron: cron.trim(), zone: zone() }
      : { every: days ? `${Number(every) * 24}h` : `${every}${unit || 'h'}` }),
    ...(overlap === 'queue' && { overlap }),
    ...(until && { until: new Date(until).toISOString() }),
  }
}

/** Whether the hub refused a part of the rule, and not the job, by the field that it names. */
export const aboutRule = (field = ''): boolean =>
  ['every', 'cron', 'zone', 'overlap', 'until'].includes(field)
