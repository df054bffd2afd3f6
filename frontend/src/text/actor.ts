/** The end of an id, which tells two of one name apart. */
const short = (id: string) => id.slice(-4)

/**
 * The name of an actor for people. A grant without a name is called by its kind and the end of
 * its id.
 */
export function actorName(actor: string): string {
  const [, kind, id] = /^(token|device):(.+)$/.exec(actor) ?? []
  return id ? deviceName({ id, kind: kind!, name: '' }) : actor
}

/** The name of a browser or token, everywhere the same: many tokens may have one name. */
export function deviceName({ id, kind, name }: { id: string; kind: string; name: string }): string {
  if (kind !== 'token') return name || t`Browser ${short(id)}`
  return name ? `${name} · ${short(id)}` : t`API token ${short(id)}`
}
