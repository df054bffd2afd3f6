// @vitest-environment happy-dom
import 'fake-indexeddb/auto'
import { IDBFactory } from 'fake-indexeddb'
import { beforeEach, expect, test, vi } from 'vitest'
import { ApiError, hubAPI } from '../src/net/api'
import { Database } from '../src/net/db'
import { PageKey, pageLayout } from '../src/net/page'

/** The fake hub: its token and challenge, and the proofs it received. */
let hub: {
  token: string
  challenge: string
  proofs: { challenge: string; signature: string }[]
  key?: CryptoKey
}
let asked: string[]
let page: PageKey
let api: ReturnType<typeof hubAPI>

beforeEach(async () => {
  vi.stubGlobal('indexedDB', new IDBFactory())
  localStorage.clear()
  hub = { token: 'first', challenge: 'c1', proofs: [] }
  asked = []
  vi.stubGlobal('fetch', async (path: string, request: RequestInit) => {
    asked.push(path)
    if (path === '/api/pair') return Response.json({ page: { token: hub.token } })
    if (path === '/api/page') {
      hub.proofs.push(JSON.parse(request.body as string))
      return Response.json({ token: hub.token })
    }
    const token = (request.headers as Record<string, string>)['Abide-Page']
    if (token === hub.token) return Response.json({})
    return Response.json({ error: { code: 'unauthorized', challenge: hub.challenge } }, { status: 401 })
  })
  page = new PageKey(localStorage, new Database('abide-page', pageLayout))
  api = hubAPI(page)
})

test('a page that is paired sends its token with each request', async () => {
  await api.pair('code', 'this browser')
  expect(await api.refusal()).toBe('well')
  expect(asked).toEqual(['/api/pair', '/api/health'])
})

test('the challenge of a restarted hub is signed, once for all waiting requests', async () => {
  await api.pair('code', 'this browser')
  hub.token = 'second'
  await Promise.all([api.refusal(), api.devices(), api.rules('s')])
  expect(hub.proofs.map((p) => p.challenge)).toEqual(['c1'])
  expect(page.token).toBe('second')
})

test('another page of the browser uses the same token and key', async () => {
  await api.pair('code', 'this browser')
  hub.token = 'second'
  const other = new PageKey(localStorage, new Database('abide-page', pageLayout))
  expect(other.token).toBe('first')
  expect(await hubAPI(other).refusal()).toBe('well')
  expect(page.token, 'it took the place of the first').toBe('second')
})

test('a browser that lost its key gets an error that says so', async () => {
  const refused = await api.refusal()
  expect(refused).toMatchObject({
    refusal: 'unauthorized',
    why: expect.stringContaining('data was cleared'),
  })
})

test('a hub that stops during a request does not sign the browser out', async () => {
  await api.pair('code', 'this browser')
  hub.token = 'second'
  const answer = fetch
  vi.stubGlobal('fetch', (path: string, request: RequestInit) =>
    path === '/api/page' ? Promise.reject(new TypeError('refused')) : answer(path, request),
  )
  expect(await api.refusal()).toBeNull()
  await expect(api.devices()).rejects.toMatchObject({ status: 0 } satisfies Partial<ApiError>)
})

test('the key cannot be exported, and its signature is bound to this origin', async () => {
  const { key, publicKey } = await page.make()
  expect(key.extractable).toBe(false)
  await page.adopt(key, { token: 't' })
  const signature = await page.sign('c')
  const bytes = (text: string) =>
    Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const verify = await crypto.subtle.importKey('raw', bytes(publicKey), algorithm, false, ['verify'])
  const text = new TextEncoder().encode(`abide-page\n${location.origin}\nc`)
  expect(await crypto.subtle.verify(algorithm, verify, bytes(signature!), text)).toBe(true)
})
