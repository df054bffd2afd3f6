// The errors of a turn that are of the agent's model.
import { expect, test } from 'vitest'
import { modelAway } from '../src/state/modelaway'

test.each([
  "The model's provider is overloaded (529), as asked",
  'Internal error: API Error: Connection error.',
  'Unable to connect. Is the computer able to access the url?',
  'TypeError: fetch failed',
  'connect ECONNREFUSED 127.0.0.1:11434',
  'getaddrinfo ENOTFOUND api.example.com',
  'stream disconnected before completion: error sending request for url',
  'API Error: 503 Service Unavailable',
  'Request timed out.',
])('%s', (message) => expect(modelAway(message)).toBe(true))

test.each([
  'The demo agent failed, as asked',
  'Internal error: API Error: 400 scripted error',
  'line 5031 of main.go is too long',
  'Session not found',
])('not: %s', (message) => expect(modelAway(message)).toBe(false))
