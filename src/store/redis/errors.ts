/**
 * Whether an error of a client says for certain that nothing was written: the server has answered
 * with it, or the command never left. Clients have classes for that, each its own, and bundlers
 * rename them; the texts are those of the server. What is not known here is not certain: time-outs,
 * connections that ended, answers of proxies.
 */
export function isRefusal(error: unknown): boolean {
  const message = messageOf(error)
  const code = /^([A-Z]+) /.exec(message)?.[1]
  if (code === 'ERR') return !PROXY.test(message)
  return code === undefined ? NEVER_SENT.has(message) : REFUSALS.has(code)
}

/** Whether the server did not know the script, and so has not run it. */
export function isUnknownScript(error: unknown): boolean {
  return messageOf(error).startsWith('NOSCRIPT ')
}

function messageOf(error: unknown): string {
  const { message } = (error ?? {}) as { readonly message?: unknown }
  return typeof message === 'string' ? message : ''
}

/** The first word of an error of the server that ends a command before it has written anything. */
const REFUSALS: ReadonlySet<string> = new Set([
  // no room, a disk that fails, too few replicas, a replica
  ...['OOM', 'MISCONF', 'NOREPLICAS', 'READONLY'],
  // another script runs, the server is starting, a replica without its primary
  ...['BUSY', 'LOADING', 'MASTERDOWN'],
  // another node of the cluster, or none
  ...['MOVED', 'ASK', 'TRYAGAIN', 'CLUSTERDOWN', 'CROSSSLOT'],
  // not allowed
  ...['NOAUTH', 'WRONGPASS', 'NOPERM', 'DENIED'],
  // the keys hold something else, which the script looks at before it writes
  'WRONGTYPE',
  // in a transaction that was given up
  'EXECABORT',
  'NOSCRIPT',
])

/** Texts of proxies about the server behind them, which may have got the command. */
const PROXY = /connection|upstream|timed? ?out|reset|broken pipe/i

/** What node-redis says of a command that it does not take. */
const NEVER_SENT: ReadonlySet<string> = new Set(['The client is closed', 'The client is offline', 'The queue is full'])
