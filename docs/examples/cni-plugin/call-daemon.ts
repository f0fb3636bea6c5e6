import { Readable } from 'node:stream'
import { answerCni, type CniAnswer, type CniEnvironment, cniErrorOf, MAX_CNI_STDIN_BYTES } from 'ipam-kit/cni'
import { isOwnNamespace } from './own-namespace.js'
import { passOn } from './shim.js'
import { readStdin } from './stdin.js'

export interface DaemonCall {
  readonly env: CniEnvironment
  readonly stdin: Readable
  /** How long the daemon may take, in milliseconds. It gives up by itself before. */
  readonly timeoutMs?: number | undefined
  readonly stdinMs?: number | undefined
  /** Carries out the call in this process if the daemon has not begun it. Left out: the call fails. */
  readonly fallback?: ((stdin: Readable) => Promise<CniAnswer>) | undefined
}

/** Passes a call on to the daemon. Without an answer and a fallback, the result is an error. Never throws. */
export async function callDaemon(
  socket: string,
  { env, stdin, timeoutMs = 115_000, stdinMs = 10_000, fallback }: DaemonCall,
): Promise<CniAnswer> {
  const bytes = await readStdin(stdin, { maxBytes: MAX_CNI_STDIN_BYTES, timeoutMs: stdinMs })
  if ('error' in bytes) return answerCni(undefined, { kind: 'failed', error: bytes.error })
  if (!bytes.ok) return answerCni(undefined, { kind: 'failed', error: cniErrorOf(bytes.failure) })
  const { CNI_NETNS = '', CNI_COMMAND } = env
  const isOwn = CNI_NETNS !== '' && isOwnNamespace(CNI_NETNS)
  const passed = await passOn(socket, { env: ofCni(env), isOwnNamespace: isOwn }, bytes.value, { timeoutMs })
  if (passed.kind === 'answered') return { stdout: passed.stdout, exitCode: passed.exitCode as 0 | 1 }
  if (passed.kind === 'down' && fallback !== undefined) return fallback(Readable.from([bytes.value]))
  const msg = passed.kind === 'down' ? 'the daemon cannot be reached' : 'the daemon has not answered'
  const code = CNI_COMMAND === 'STATUS' ? 50 : 11
  return answerCni(undefined, { kind: 'failed', error: { code, msg: `${msg}: ${passed.problem}` } })
}

/** The variables of the protocol. The daemon needs no others. */
function ofCni(env: CniEnvironment): CniEnvironment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('CNI_')))
}
