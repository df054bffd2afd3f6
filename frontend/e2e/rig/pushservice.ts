// A fake of a browser's push service: it receives messages from the hub and decrypts them as the
// browser would.
import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'

export interface Pushed {
  kind: string
  session_id: string
  seq: number
  tag: string
  title: string
  body: string
}

export class PushService {
  /** The decrypted messages, oldest first. */
  readonly pushed: Pushed[] = []
  /** The Content-Encoding headers of the messages. */
  readonly encodings = new Set<string | undefined>()
  readonly #key = createECDH('prime256v1')
  readonly #secret = randomBytes(16)
  readonly #server: Server

  private constructor() {
    this.#key.generateKeys()
    this.#server = createServer(async (request, response) => {
      const parts: Buffer[] = []
      for await (const part of request) parts.push(part as Buffer)
      this.encodings.add(request.headers['content-encoding'])
      this.pushed.push(JSON.parse(this.#decrypt(Buffer.concat(parts))) as Pushed)
      response.writeHead(201).end()
    })
  }

  static async start(): Promise<PushService> {
    const service = new PushService()
    await new Promise<void>((listening) => service.#server.listen(0, '127.0.0.1', listening))
    return service
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((closed) => this.#server.close(closed))
  }

  /** Makes a page subscribe to this service, because the test browser has none. Call it before the page is opened. */
  async serve(page: Page): Promise<void> {
    const subscription = {
      endpoint: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/phone`,
      keys: { p256dh: this.#key.getPublicKey('base64url'), auth: this.#secret.toString('base64url') },
    }
    await page.addInitScript((json) => {
      const subscribed = { endpoint: json.endpoint, toJSON: () => json, unsubscribe: async () => true }
      let on = false
      Object.assign(PushManager.prototype, {
        subscribe: async () => ((on = true), subscribed),
        getSubscription: async () => (on ? subscribed : null),
      })
    }, subscription)
  }

  /** RFC 8188 and 8291: a header (salt, record size, the sender's key), then one record. */
  #decrypt(body: Buffer): string {
    const salt = body.subarray(0, 16)
    const keyLength = body.readUInt8(20)
    const sender = body.subarray(21, 21 + keyLength)
    const record = body.subarray(21 + keyLength)
    const derive = (key: Buffer, from: Buffer, info: Buffer | string, length: number) =>
      Buffer.from(hkdfSync('sha256', key, from, info, length))
    const info = Buffer.concat([Buffer.from('WebPush: info\0'), this.#key.getPublicKey(), sender])
    const secret = derive(this.#key.computeSecret(sender), this.#secret, info, 32)
    const key = derive(secret, salt, 'Content-Encoding: aes128gcm\0', 16)
    const nonce = derive(secret, salt, 'Content-Encoding: nonce\0', 12)
    const decipher = createDecipheriv('aes-128-gcm', key, nonce)
    decipher.setAuthTag(record.subarray(-16))
    const plain = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()])
    return plain.subarray(0, plain.lastIndexOf(2)).toString() // 2 ends the last record, zeros may follow
  }
}
