import type { MockHub } from './mockhub.mjs'

export interface Preview {
  url: string
  hub: MockHub
  stop(): Promise<void>
}

/** Serves a built app, by default frontend/dist, with a mock hub under the policy the real hub sends. */
export function preview(options?: { port?: number; pace?: number; root?: string }): Promise<Preview>
