import type { Database, Layout } from './db'
import type { PageToken } from '../wire/gen'
import { isRecord, isSeq, parsed } from './kept'

const kept = 'abide.page'
/** The hub's tokens live a day: a page that is used every day never has to wait for another. */
const renewMs = 12 * 3_600_000
const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }

type Keys = { keys: { key: string; value: CryptoKey } }

export const pageLayout: Layout<Keys> = {
  version: 1,
  upgrade: (db) => void db.createObjectStore('keys'),
}

/**
 * The half of this browser's credential that is bound to the origin: cookies are sent to every port
 * of a host, this is not. A key that no script can read signs the hub's challenge; the token it
 * gets for that is sent with each request, and ends with the hub. See docs/adr/0042.
 */
export class PageKey {
  /** Kept in memory, for browsers that store nothing. */
  private key: CryptoKey | null = null
  private last: { token: string; renewAt: number } | null = null

  constructor(
    private readonly storage: Storage,
    private readonly db: Database<Keys>,
  ) {}

  /** The headers of each request; empty where there is none yet. Another tab may have got it. */
  get token(): string {
    return this.read()?.token ?? ''
  }

  /** Whether another token should be asked for, before this one ends. */
  get ageing(): boolean {
    const { token, renewAt } = this.read() ?? { token: '', renewAt: 0 }
    return token !== '' && Date.now() > renewAt
  }

  /** Makes a key for a pairing. Only once the hub has taken its public half does `adopt` put it in place. */
  async make(): Promise<{ publicKey: string; key: CryptoKey }> {
    const pair = await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify'])
    const raw = await crypto.subtle.exportKey('raw', pair.publicKey)
    return { publicKey: base64url(raw), key: pair.privateKey }
  }

  /** Takes the key that the hub has paired, and its first token. */
  async adopt(key: CryptoKey, granted: Pick<PageToken, 'token'>): Promise<void> {
    this.key = key
    this.take(granted)
    await this.db
      .use((db) => db.transact('readwrite', ['keys'], (at) => at('keys').put(key, 'page')), true)
      .catch(() => {})
  }

  /** Signs a challenge; null where this browser has no key. */
  async sign(challenge: string): Promise<string | null> {
    // Another tab may have paired this browser anew.
    const key = (await this.stored().catch(() => undefined)) ?? this.key
    if (!key) return null
    const text = new TextEncoder().encode(`abide-page\n${location.origin}\n${challenge}`)
    return base64url(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, text))
  }

  private stored(): Promise<CryptoKey | undefined> {
    return this.db.use((db) => db.transact('readonly', ['keys'], (at) => at('keys').get('page')))
  }

  take(granted: Pick<PageToken, 'token'>): void {
    this.last = { token: granted.token, renewAt: Date.now() + renewMs }
    try {
      this.storage.setItem(kept, JSON.stringify(this.last))
    } catch {
      // Full or forbidden: the next page signs a challenge of its own.
    }
  }

  private read(): { token: string; renewAt: number } | null {
    const value = parsed(this.storage, kept)
    if (!isRecord(value) || typeof value['token'] !== 'string' || !isSeq(value['renewAt'])) return this.last
    return { token: value['token'], renewAt: value['renewAt'] }
  }
}

function base64url(bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
