import { type Daemon, startDaemon } from './daemon.js'
import { cniPlugin } from './plugin.js'
import { SharedServers } from './shared-servers.js'
import { optionsOf, type ProgramFlags } from './thin.js'

/** A shim that is passed on takes memory here. */
const MAX_CALLS = 1000
const RECEIVE_MS = 10_000

/**
 * Answers the shims of this node, until SIGTERM or SIGINT.
 *
 * @throws Error if the socket cannot be used
 */
export async function runDaemon(
  socket: string,
  flags: ProgramFlags,
  env: { readonly [name: string]: string | undefined },
): Promise<void> {
  // from the first moment on: a signal during the start leaves no socket behind
  const ended = new Promise<void>((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
  })
  const servers = new SharedServers((problem) => console.error(problem))
  const options = { ...optionsOf(flags, env), openServer: servers.open.bind(servers) }
  const daemon: Daemon = await startDaemon(socket, {
    pluginOf: ({ isOwnNamespace }) => cniPlugin({ ...options, isOwnNamespace: () => isOwnNamespace }),
    maxCalls: MAX_CALLS,
    receiveMs: RECEIVE_MS,
  })
  console.log(`answers at ${socket}`)
  await ended
  await daemon.stop()
  await servers.stop()
}
