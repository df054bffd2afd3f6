// A naive client that trusts its socket. The oracle must report its lost and repeated
// events, or the oracle proves nothing.
import type { Device } from './device.ts'
import { watch } from './inpage.ts'
import { Screen } from './screen.ts'

/** Opens a page that shows the session without a cursor, without probes and without dropping duplicates. */
export async function openNaive(device: Device, session: string): Promise<Screen> {
  const page = await device.browser.window()
  await page.addInitScript(watch)
  const screen = new Screen(page)
  // Any document of the hub's origin that is not the app.
  await page.goto(`${device.origin}/api/health`)
  await page.evaluate(run, session)
  await screen.reaches(session, 1)
  return screen
}

function run(session: string): void {
  const root = document.documentElement.dataset
  const feed = document.createElement('div')
  feed.setAttribute('role', 'feed')
  document.body.replaceChildren(feed)
  let applied = 0
  let message: HTMLElement | undefined
  let messageId = ''

  const show = (event: { seq: number; type: string; data: Record<string, string> }, epoch: string) => {
    applied++
    Object.assign(root, { seq: event.seq, applied, epoch, session, firstSeq: root['firstSeq'] ?? event.seq })
    if (event.type === 'user_prompt') row(`prompt:${event.data['prompt_id']}`, event.seq, event.data['text']!)
    if (event.type !== 'agent_message') return
    if (messageId !== event.data['message_id']) {
      messageId = event.data['message_id']!
      message = row(`text:${event.seq}`, event.seq, '')
    }
    message!.textContent += event.data['text']!
  }
  const row = (key: string, seq: number, text: string) => {
    const article = document.createElement('article')
    Object.assign(article.dataset, { key, seq, last: seq })
    const body = document.createElement('div')
    body.className = 'message'
    body.textContent = text
    article.append(body)
    feed.append(article)
    return body
  }
  const dial = () => {
    const { token } = JSON.parse(localStorage.getItem('abide.page')!) as { token: string }
    const url = `ws://${location.host}/api/sessions/${session}/ws?tail=500`
    const socket = new WebSocket(url, ['abide.v1', `abide.page.${token}`])
    socket.onopen = () => (root['link'] = 'open')
    socket.onmessage = (message) => {
      const frame = JSON.parse(message.data as string)
      for (const event of frame.events ?? []) show(event, frame.epoch)
    }
    socket.onclose = () => {
      root['link'] = 'closed'
      setTimeout(dial, 100)
    }
  }
  dial()
}
