// The service worker: it serves the app's own files from its cache, everything else from
// the network. It never handles /api, so the data is never older than the hub's.
/* global FILES, VERSION */
const name = `abide-${VERSION}`

/** Whether this worker takes over from another program's, whose pages are then loaded anew. */
let after = false

self.addEventListener('install', (event) => {
  event.waitUntil(
    (async () => {
      // Not from the browser's cache: another program that had this address may have filled it.
      const files = FILES.map((file) => new Request(file, { cache: 'reload' }))
      await (await caches.open(name)).addAll(files)
      const { active } = self.registration
      if (active && !(await ours(active))) {
        after = true
        await self.skipWaiting()
      }
    })(),
  )
})

/** How long the active worker may take to name its version. */
const answerMs = 3_000

/** Whether the active worker is a version of this one, and not one of another program that had this address. */
function ours(active) {
  const { port1, port2 } = new MessageChannel()
  return new Promise((settle) => {
    port1.onmessage = ({ data }) => settle(/^\w{1,64}$/.test(data))
    setTimeout(() => settle(false), answerMs)
    active.postMessage('version', [port2])
  })
}

self.addEventListener('activate', (event) => {
  event.waitUntil(
    (async () => {
      for (const key of await caches.keys()) if (key !== name) await caches.delete(key)
      await self.clients.claim()
      if (!after) return
      for (const page of await self.clients.matchAll({ type: 'window' }))
        page.navigate(page.url).catch(() => {})
    })(),
  )
})

// A new version waits until a person asks for it, so that no open screen reloads by itself.
self.addEventListener('message', (event) => {
  if (event.data === 'update') void self.skipWaiting()
  if (event.data === 'version') event.ports[0]?.postMessage(VERSION)
})

self.addEventListener('fetch', (event) => {
  const url = new URL(event.request.url)
  if (event.request.method !== 'GET' || url.origin !== location.origin || url.pathname.startsWith('/api/'))
    return
  const path = event.request.mode === 'navigate' ? '/' : url.pathname
  if (!FILES.includes(path)) return
  event.respondWith(caches.match(path, { cacheName: name }).then((kept) => kept ?? fetch(event.request)))
})

// Each push shows a notification: browsers revoke the permission of an app that shows none.
self.addEventListener('push', (event) => {
  let message = {}
  try {
    message = event.data.json()
  } catch {
    // A push that cannot be parsed shows the default words.
  }
  event.waitUntil(tell(message))
})

async function tell({ kind, session_id, seq, tag = 'abide', title, body, badge, answer }) {
  // Not awaited: setting the badge may be slow, and must not delay the notification.
  if (typeof badge === 'number') navigator.setAppBadge?.(badge).catch(() => {})
  const settled = kind === 'withdrawn'
  if (settled) {
    const [shown] = await self.registration.getNotifications({ tag })
    // A newer question already has this tag: show it again, silently.
    if (shown && shown.data.seq > seq) return show(shown.title, { ...kept(shown), silent: true })
  }
  await show(title || 'abide', {
    tag,
    body: body || (settled ? t`Answered elsewhere.` : t`A session needs you.`),
    data: { session_id, seq, kind, answer },
    silent: settled,
    requireInteraction: kind === 'permission' || kind === 'form',
    actions: (answer?.options ?? []).map(({ label }, i) => ({ action: String(i), title: label })),
  })
  if (settled) for (const shown of await self.registration.getNotifications({ tag })) shown.close()
}

const kept = ({ tag, body, data, actions, requireInteraction }) => ({
  tag,
  body,
  data,
  actions,
  requireInteraction,
})

const show = (title, options) =>
  self.registration.showNotification(title, { icon: '/icons/icon-192.png', ...options })

self.addEventListener('notificationclick', (event) => {
  const { notification, action } = event
  notification.close()
  const { answer } = notification.data ?? {}
  const option = action === '' ? undefined : answer?.options[Number(action)]
  event.waitUntil(option ? settle(notification, answer.token, option) : open(notification.data ?? {}))
})

/** Sends the answer; the token is the only credential. If that fails, a notification with the reason replaces the question. */
async function settle({ title, tag, data }, token, option) {
  let why = t`The hub cannot be reached.`
  try {
    const response = await fetch('/api/answer', {
      method: 'POST',
      credentials: 'omit',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ token, option_id: option.option_id }),
    })
    if (response.ok) return
    why = (await response.json()).error.message
  } catch {
    // `why` already says that the hub cannot be reached.
  }
  const { session_id, seq, kind } = data
  await show(title, { tag, body: t`Not answered. ${why}`, data: { session_id, seq, kind } })
}

// The browser's push service gave this device a new address. Only a page can send it to the hub:
// the settings do so when they open.
self.addEventListener('pushsubscriptionchange', (event) => {
  event.waitUntil(renew(event))
})

async function renew({ oldSubscription, newSubscription }) {
  const options = oldSubscription?.options
  if (!newSubscription && options) await self.registration.pushManager.subscribe(options).catch(() => {})
  await show('abide', {
    tag: 'abide',
    body: t`The push service of this browser gave the device a new address. Open this once to keep getting notifications.`,
    data: {},
  })
}

/** Opens the notification's session in the app: in an open window if there is one, else in a new one. */
async function open({ session_id, seq }) {
  const path = session_id ? `/s/${session_id}?seq=${seq}` : '/settings'
  const windows = await self.clients.matchAll({ type: 'window' })
  const there = windows.find((w) => w.visibilityState === 'visible') ?? windows[0]
  if (!there) return self.clients.openWindow(path)
  there.postMessage({ open: path })
  return there.focus().catch(() => self.clients.openWindow(path))
}
