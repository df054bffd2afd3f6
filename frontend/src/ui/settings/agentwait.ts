/** The time limit of a request that starts an agent: the hub's own is three minutes. */
export const checkTime = () => AbortSignal.timeout(200_000)
/** The time limit of a request for a login's output: the hub waits 20 s for a change. */
export const outputTime = () => AbortSignal.timeout(40_000)
