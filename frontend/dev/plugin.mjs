import { MockHub } from './mockhub.mjs'

/**
 * Serves /api from a mock hub while developing. With ABIDE_HUB=http://127.0.0.1:22433
 * the requests go to that hub instead.
 * @returns {import('vite').Plugin}
 */
export function mockHub() {
  return {
    name: 'abide-mock-hub',
    apply: 'serve',
    config: () => {
      const target = process.env['ABIDE_HUB']
      return target ? { server: { proxy: { '/api': { target, ws: true, changeOrigin: true } } } } : {}
    },
    configureServer(server) {
      if (process.env['ABIDE_HUB'] || process.env['VITEST']) return
      const hub = new MockHub()
      server.middlewares.use((request, response, next) => {
        hub.request(request, response).then((done) => done || next(), next)
      })
      server.httpServer?.on('upgrade', (request, socket, head) => {
        if (request.url?.startsWith('/api/')) hub.upgrade(request, socket, head)
      })
    },
  }
}
