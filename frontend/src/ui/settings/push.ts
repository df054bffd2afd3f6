import type { Made, NotifyChoice, PushState, Subscription } from '../../wire/gen'
import type { Intents } from '../../state/intents'

const path = '/api/push'
const key = 'abide.push'
/** Where the push service takes messages for this browser, as the hub was told. */
const endpointKey = 'abide.push.endpoint'

/** Why this browser cannot be told, in words; empty where it can. */
export function hindrance(): string {
  if (!isSecureContext)
    return t`This page was not opened by https, nor on the machine the hub runs on. The browser gives it no service worker, and so no notifications.`
  const phone =
    /iPhone|iPad/.test(navigator.userAgent) ||
    (navigator.userAgent.includes('Macintosh') && navigator.maxTouchPoints > 1)
  if (phone && !matchMedia('(display-mode: standalone)').matches)
    return t`On an iPhone or iPad only apps on the home screen get notifications. Tap Share, then “Add to Home Screen”, and turn this on in the app that you open from there.`
  if (!('serviceWorker' in navigator))
    return t`This browser gives the page no service worker: a private window has none.`
  if (!('PushManager' in window) || !('Notification' in window))
    return t`This browser has no notifications of this kind.`
  if (Notification.permission === 'denied')
    return t`Notifications are blocked. Allow them in the browser’s site settings, then reload.`
  return ''
}

/** This browser's choice of notifications; null while it is told nothing. */
export async function telling(hub: Intents): Promise<Subscription | null> {
  const subscription = await (await registered(false))?.pushManager.getSubscription()
  if (!subscription) return null
  const told = await stored(hub)
  if (!told || subscription.endpoint === localStorage.getItem(endpointKey)) return told
  // The push service gave this browser another address.
  const { events, muted, quiet } = told
  await enter(hub, subscription, { events, muted, quiet })
  if (localStorage.getItem(key) !== told.id) await hub.ask('DELETE', `${path}/subscriptions/${told.id}`)
  return stored(hub)
}

async function stored(hub: Intents): Promise<Subscription | null> {
  const { subscriptions } = await hub.ask<PushState>('GET', path)
  return subscriptions.find(({ id }) => id === localStorage.getItem(key)) ?? null
}

async function enter(
  hub: Intents,
  subscription: PushSubscription,
  choice: Partial<NotifyChoice>,
): Promise<void> {
  const json = subscription.toJSON()
  const { id } = await hub.ask<Made>('POST', `${path}/subscriptions`, { ...json, ...choice })
  localStorage.setItem(key, id)
  localStorage.setItem(endpointKey, json.endpoint ?? '')
}

/**
 * Has this browser notified of the chosen events; asks the person first where the browser wants
 * that.
 */
export async function tell(hub: Intents, choice: Partial<NotifyChoice>): Promise<void> {
  if ((await Notification.requestPermission()) !== 'granted')
    throw new Error(hindrance() || t`The browser was not allowed to show notifications.`)
  const { public_key } = await hub.ask<PushState>('GET', path)
  await enter(hub, await subscribe((await registered(true))!, bytes(public_key)), choice)
}

/** Has this browser told nothing any more. */
export async function hush(hub: Intents, id: string): Promise<void> {
  await (await (await registered(false))?.pushManager.getSubscription())?.unsubscribe()
  await hub.ask('DELETE', `${path}/subscriptions/${id}`)
}

export const testPush = (hub: Intents, id: string) =>
  hub.ask<void>('POST', `${path}/subscriptions/${id}/test`)

async function subscribe(
  { pushManager }: ServiceWorkerRegistration,
  applicationServerKey: Uint8Array<ArrayBuffer>,
) {
  const options = { userVisibleOnly: true, applicationServerKey }
  try {
    return await Promise.race([pushManager.subscribe(options), late(t`it does not answer`)])
  } catch (error) {
    const old = await pushManager.getSubscription()
    // One for another hub's key, as after the hub's data was made anew.
    if (old && (await old.unsubscribe())) return pushManager.subscribe(options)
    throw new Error(t`The browser's push service did not take this device: ${(error as Error).message}`)
  }
}

/** The longest wait for an answer of the browser's push interfaces. */
const patienceMs = 10_000

const late = (why: string) =>
  new Promise<never>((_, fail) => setTimeout(() => fail(new Error(why)), patienceMs))

/** The service worker's registration, which comes a few seconds after the page. */
async function registered(wait: boolean): Promise<ServiceWorkerRegistration | undefined> {
  const container = navigator.serviceWorker as ServiceWorkerContainer | undefined
  if (!container) return undefined
  if (!wait) return container.getRegistration()
  return Promise.race([container.ready, late(t`The page has no service worker yet. Load it again.`)])
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(plain, (c) => c.charCodeAt(0))
}
