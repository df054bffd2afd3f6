import type { ConfigData, ModeData, ModeOption } from '../wire/gen'
import { record } from './json'
import { optionsOf } from './options'

/*
 * Some agents offer their mode as an option of category mode, too, and tell a change by one of the
 * two only: the one that was told last counts for both.
 */

/** The mode after these options were told. */
export function modeIn(
  config: ConfigData | undefined,
  mode: ModeData | undefined,
  modes: readonly ModeOption[],
): ModeData | undefined {
  const option = optionsOf(config).find((o) => o.category === 'mode')
  const value = option?.value
  if (typeof value !== 'string' || value === mode?.mode_id) return mode
  if (modes.length > 0 && !modes.some((m) => m.id === value)) return mode
  return { mode_id: value }
}

/** The options after this mode was told. */
export function optionsIn(
  mode: ModeData | undefined,
  config: ConfigData | undefined,
): ConfigData | undefined {
  const option = optionsOf(config).find((o) => o.category === 'mode')
  if (!mode || !config || !option || option.value === mode.mode_id) return config
  if (!option.choices.some((c) => c.value === mode.mode_id)) return config
  const options = (config.options as unknown[]).map((o) =>
    record(o)['id'] === option.id ? { ...record(o), currentValue: mode.mode_id } : o,
  )
  return { ...config, options }
}
