// A stand-in until the mock hub is written.
export function mockHub() {
  return { name: 'abide-mock-hub', apply: 'serve' }
}
