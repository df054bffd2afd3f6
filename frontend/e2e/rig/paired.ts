// A hub and a paired device for all tests of a block.
import { afterAll, beforeAll, expect } from 'vitest'
import type { Size } from './browser.ts'
import { Device } from './device.ts'
import { Hub, type HubOptions } from './hub.ts'

export interface Paired {
  readonly hub: Hub
  readonly device: Device
}

/** Starts both before the tests of this block and stops them after. Use neither outside the tests and hooks. */
export function paired(options: { size?: Size; hub?: HubOptions } = {}): Paired {
  let hub: Hub
  let device: Device
  beforeAll(async () => {
    hub = await Hub.start(options.hub)
    device = await Device.pair(hub, options)
  })
  afterAll(async () => {
    await device.stop()
    expect(await hub.stop()).toBe(0)
  })
  return {
    get hub() {
      return hub
    },
    get device() {
      return device
    },
  }
}
