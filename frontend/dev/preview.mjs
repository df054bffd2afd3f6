// Serves the built app with the mock hub under the content security policy of the real
// hub, so that a violation shows here, too: node dev/preview.mjs [port]
import { createServer } from 'node:http'
import { readFile } from 'node:fs/promises'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MockHub } from './mockhub.mjs'

const dist = process.env['ABIDE_DIST'] ?? fileURLToPath(new URL('../dist/', import.meta.url))
const kinds = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
}

export const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
  "font-src 'self'; manifest-src 'self'; worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; " +
  "form-action 'self'; require-trusted-types-for 'script'; " +
  'trusted-types abide-shell abide-worker svelte-trusted-html dompurify'

/** Starts the server. Returns its URL, its mock hub and a function that stops it. */
export async function preview({ port = 0, pace = 25, root = dist } = {}) {
  const hub = new MockHub({ pace })
  const server = createServer(async (request, response) => {
    try {
      if (await hub.request(request, response)) return
      const path = normalize(new URL(request.url, 'http://x').pathname)
      const name = extname(path) ? path : '/index.html'
      const body = await readFile(join(root, name))
      response.writeHead(200, {
        'Content-Type': kinds[extname(name)] ?? 'application/octet-stream',
        'Content-Security-Policy': policy,
      })
      response.end(body)
    } catch {
      response.writeHead(404).end()
    }
  })
  server.on('upgrade', (request, socket, head) => hub.upgrade(request, socket, head) || socket.destroy())
  await new Promise((done) => server.listen(port, '127.0.0.1', done))
  const stop = () => {
    server.closeAllConnections()
    for (const ws of hub.sockets.clients) ws.terminate()
    return new Promise((done) => server.close(done))
  }
  return { url: `http://127.0.0.1:${server.address().port}`, hub, stop }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log((await preview({ port: Number(process.argv[2] ?? 4173) })).url)
}
