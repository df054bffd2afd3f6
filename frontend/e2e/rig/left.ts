// The end-to-end tests that make test leaves to make soak, each with its reason. The runner skips them, and the run
// ends with their number. An entry that fits no test fails its file. A run with -t, and a run with ABIDE_SOAK, skips none.

/** Files that take long. They prove for large amounts, or for all combinations, what other files prove. */
export const leftFiles = ['matrix', 'large', 'largefolders', 'axe']

export interface Left {
  file: string
  /** Fits the full names of the tests: "group test", with the quotes around a string of test.each. */
  tests: RegExp
  why: string
}

const finger = 'the same acts with a finger at 390; make test has them by keys or mouse at a desk'
const desk = 'the same acts by keys or mouse at a desk; make test has them with a finger at 390'

export const left: Left[] = [
  // The same acts at two sizes. Which one stays takes turns, so that each way is proven on many screens.
  { file: 'addagent', tests: /at a desk/, why: desk },
  { file: 'allow', tests: /at a desk$/, why: desk },
  { file: 'athand', tests: /^'by touch' /, why: finger },
  { file: 'branches', tests: /at 390'?$/, why: finger },
  { file: 'details', tests: /at 390'?$/, why: finger },
  { file: 'diff', tests: /'by keyboard at 1440'|by keyboard$/, why: desk },
  { file: 'editor', tests: /at 390'?$/, why: finger },
  { file: 'files', tests: /^'by touch' /, why: finger },
  { file: 'filters', tests: /at 1280'?$/, why: desk },
  { file: 'find', tests: /^finding 'on a phone' /, why: finger },
  { file: 'focus', tests: /by 'touch'$/, why: finger },
  { file: 'forks', tests: /^on 'a phone' /, why: finger },
  { file: 'jobs', tests: /by keys$|\(1280\)$/, why: desk },
  { file: 'launch', tests: /on 'a phone'$/, why: finger },
  { file: 'leftcopy', tests: /at 1280'?$/, why: desk },
  { file: 'look', tests: /kept, at 390$/, why: finger },
  { file: 'menu', tests: /on 'a desktop' /, why: desk },
  { file: 'merge', tests: /at 1280'?$/, why: desk },
  { file: 'newsession', tests: /at 1280'?$/, why: desk },
  { file: 'newuser', tests: /^a new user at 'a phone' /, why: finger },
  { file: 'notifications', tests: /the settings at 390 /, why: finger },
  { file: 'push', tests: /at a desk,/, why: desk },
  { file: 'rows', tests: /by 'keys at 1440' /, why: desk },
  { file: 'search', tests: /^search 'on a phone' /, why: finger },
  { file: 'storage', tests: /at 390'?$/, why: finger },
  { file: 'tags', tests: /at 1280'?$/, why: desk },
  { file: 'trash', tests: /at 1280'?$/, why: desk },
  { file: 'undo', tests: /on 'a phone'/, why: finger },
  { file: 'usage', tests: /at 390, dark$|at 1280, light$/, why: 'each size has one theme in make test' },
  // One of several that fail together.
  {
    file: 'load',
    tests: /with a change on a phone$|the list on a desktop$|the settings on a phone$|a review on a phone$/,
    why: 'the same page at the other size',
  },
  {
    file: 'proxies',
    tests: /that '(refuses upgrades|never answers upgrades|holds answers back)'|the proxies of the system/,
    why: 'make test has the worst proxy without WebSocket, and the one with it that cuts what is idle',
  },
  {
    file: 'question',
    tests: /on 640 × 400$/,
    why: 'make test has a smaller and a larger screen',
  },
  {
    file: 'restart',
    tests: /after \/slow 3600$/,
    why: 'make test kills the hub in a burst of 100,000 events',
  },
  {
    file: 'restart',
    tests: /'(a stranded connection|a blackhole after a reset|an orderly end)' on one page/,
    why: 'the page notices these faults only after a long silence; make test has a stall and a reset',
  },
  {
    file: 'resume',
    tests: /let the (option|mode, model|mode, option|model, option) be put back waits/,
    why: 'make test has one setting, and all three',
  },
  {
    file: 'seq',
    tests: /none, as "(0|1\.5|1e99||%00|٣)",/,
    why: 'make test has a word, a negative number and a number with a letter',
  },
  {
    file: 'devices',
    tests: /show that the connection is lost/,
    why: 'phone.e2e.ts has a device that is offline',
  },
  { file: 'resume', tests: /^a real agent /, why: 'it needs the agent that make soak installs' },
  { file: 'wake', tests: /is really tested|really sleeps/, why: 'they prove that the rig can fail' },
]
