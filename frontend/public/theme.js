// Runs before the first paint, so that a chosen theme never flashes the other.
try {
  const theme = JSON.parse(localStorage.getItem('abide.prefs') || '{}').theme
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Without storage the system's theme is right.
}
