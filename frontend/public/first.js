// Runs before the first paint.

// A chosen theme never flashes the other.
try {
  const theme = JSON.parse(localStorage.getItem('abide.prefs') || '{}').theme
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Without storage the system's theme is right.
}

// A browser without it has the rest of the app: the tabs do not talk to each other.
globalThis.BroadcastChannel ??= class extends EventTarget {
  postMessage() {}
  close() {}
}

// A session's screen is asked for beside the app, not after the app has found out that it needs it.
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

// How this language writes numbers and times takes long to load, once: while the network brings the app, in two tasks,
// rather than with the first row that says when it was.
setTimeout(() => {
  'a'.localeCompare('b')
  setTimeout(() => new Date().toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' }))
})
