// Runs before the first paint.

// A chosen theme never flashes the other.
try {
  const theme = JSON.parse(localStorage.getItem('abide.prefs') || '{}').theme
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Without storage the system's theme is right.
}

// A browser that lacks one of them has the rest: without the first the tabs do not talk to each other.
globalThis.BroadcastChannel ??= class extends EventTarget {
  postMessage() {}
  close() {}
}
crypto.randomUUID ??= () => crypto.getRandomValues(new Uint32Array(4)).join('-')

// A session's screen is asked for beside the app, not after it.
if (location.pathname.startsWith('/s/')) {
  const parts = document.querySelector('meta[name="abide-session"]')?.content.split(' ') ?? []
  for (const href of parts.filter(Boolean)) {
    const link = document.createElement('link')
    if (href.endsWith('.css')) {
      link.rel = 'preload'
      link.as = 'style'
    } else link.rel = 'modulepreload'
    link.crossOrigin = ''
    link.href = href
    document.head.append(link)
  }
}

// Words of times take long to load: in two tasks, while the network brings the app.
setTimeout(() => {
  'a'.localeCompare('b')
  setTimeout(() => new Date().toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' }))
})
