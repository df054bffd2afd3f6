import type { ServerMessage } from './gen'

/** Protocol version this app speaks, and the WebSocket subprotocol. */
export const protocolVersion = 1
export const subprotocol = 'abide.v1'

const known: Record<ServerMessage['type'], true> = {
  connected: true,
  events: true,
  events_loaded: true,
  state: true,
  reading: true,
  session: true,
  session_gone: true,
  prompt_received: true,
  prompt_queued: true,
  prompt_removed: true,
  prompt_interrupted: true,
  permission_resolved: true,
  comments: true,
  granted: true,
  pong: true,
  heartbeat: true,
  error: true,
  goodbye: true,
}

/**
 * Reads one frame; null for a message that is not a frame of a known type, which the caller counts.
 */
export function parseFrame(text: string): ServerMessage | null {
  let frame: unknown
  try {
    frame = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof frame !== 'object' || frame === null || !('type' in frame)) return null
  return typeof frame.type === 'string' && Object.hasOwn(known, frame.type) ? (frame as ServerMessage) : null
}
