/**
 * The name of an actor for people. A grant without a name is called by its kind and the end of
 * its id.
 */
export function actorName(actor: string): string {
  const [, kind, id] = /^(token|device):(.+)$/.exec(actor) ?? []
  return id ? `${kind === 'token' ? t`A script` : t`A device`} (${id.slice(-4)})` : actor
}
