// The service worker: the app's own files from its cache, everything else from
// the network. It never touches /api, so data is never older than the hub.
/* global FILES, VERSION */
const name = `abide-${VERSION}`

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(name).then((cache) => cache.addAll(FILES)))
})

self.addEventListener('activate', (event) => {
  event.waitUntil(
    (async () => {
      for (const key of await caches.keys()) if (key !== name) await caches.delete(key)
      await self.clients.claim()
    })(),
  )
})

// A new version waits until a person says so: nobody's screen changes by itself.
self.addEventListener('message', (event) => {
  if (event.data === 'update') void self.skipWaiting()
})

self.addEventListener('fetch', (event) => {
  const url = new URL(event.request.url)
  if (event.request.method !== 'GET' || url.origin !== location.origin || url.pathname.startsWith('/api/'))
    return
  const path = event.request.mode === 'navigate' ? '/' : url.pathname
  if (!FILES.includes(path)) return
  event.respondWith(caches.match(path, { cacheName: name }).then((kept) => kept ?? fetch(event.request)))
})
