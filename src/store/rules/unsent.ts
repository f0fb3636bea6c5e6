/** Codes of Node and of its fetch for a connection that did not come about: nothing was sent. */
export const NEVER_CONNECTED: ReadonlySet<unknown> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'],
  'UND_ERR_CONNECT_TIMEOUT',
])
