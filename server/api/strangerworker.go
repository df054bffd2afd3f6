package api

import (
	"io"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/abidehub/abide/internal/auth"
)

// appWorker is the address of the app's service worker.
const appWorker = "/sw.js"

// ofStranger matches a browser that asks for a service worker that is not the app's.
// Another program had the hub's port and registered it; it would go on answering for the
// hub.
func ofStranger(r *http.Request, _ *mux.RouteMatch) bool {
	return r.Header.Get("Service-Worker") == "script" && r.URL.Path != appWorker
}

func strangerRoute() route {
	return route{gate: auth.OwnHost, handle: func(_ *API, c *call) error {
		c.w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		c.w.Header().Set("Cache-Control", "no-store")
		_, _ = io.WriteString(c.w, goneWorker) // a failure ends the request
		return nil
	}}
}

// goneWorker takes the place of a stranger's service worker at once, fetches the app's
// files anew, as the stranger may have put others into the browser's cache, unregisters
// itself and loads the pages again.
const goneWorker = `// This service worker is not abide's: it was registered by another program on this address.
self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil(leave()))
async function leave() {
  await self.clients.claim()
  const list = await fetch('` + appWorker + `', { cache: 'reload' })
    .then((answer) => answer.text())
    .then((text) => JSON.parse(/^const FILES = (\[.*\])$/m.exec(text)?.[1] ?? '[]'))
    .catch(() => [])
  await Promise.allSettled(list.map((file) => fetch(file, { cache: 'reload' })))
  for (const name of await caches.keys()) await caches.delete(name)
  const pages = await self.clients.matchAll({ type: 'window' })
  await self.registration.unregister()
  for (const page of pages) page.navigate(page.url).catch(() => {})
}
`
