import { connect } from 'node:net'
import { type DaemonAnswer, type ShimCall, socketProblem } from './socket.js'

/** The end of a call that was passed on. */
export type Passed =
  | { readonly kind: 'answered'; readonly stdout: string; readonly exitCode: number }
  /** The daemon has not begun it. */
  | { readonly kind: 'down'; readonly problem: string }
  /** The daemon may have begun the call: no other process may carry it out now. */
  | { readonly kind: 'lost'; readonly problem: string }

const ENDED = 'it ended before it answered'

export interface PassOptions {
  /** The longest time to an answer, in milliseconds. */
  readonly timeoutMs: number
}

/** Passes a call on to the daemon at a socket, and waits for the answer of the daemon. Never throws. */
export function passOn(socket: string, call: ShimCall, stdin: Uint8Array, { timeoutMs }: PassOptions): Promise<Passed> {
  const problem = socketProblem(socket)
  if (problem !== undefined) return Promise.resolve({ kind: 'down', problem })
  return new Promise((resolve) => {
    let isSent = false
    const chunks: Buffer[] = []
    const connection = connect({ path: socket, allowHalfOpen: true })
    const end = (passed: Passed) => {
      clearTimeout(timer)
      connection.destroy()
      resolve(passed)
    }
    const timer = setTimeout(() => {
      end({ kind: isSent ? 'lost' : 'down', problem: `no answer within ${timeoutMs / 1000} s` })
    }, timeoutMs)
    connection.once('error', ({ message }) => {
      end(isSent ? { kind: 'lost', problem: ENDED } : { kind: 'down', problem: message })
    })
    connection.once('connect', () => {
      isSent = true
      connection.write(`${JSON.stringify(call)}\n`)
      connection.end(stdin)
    })
    connection.on('data', (chunk) => chunks.push(chunk))
    connection.once('end', () => end(read(Buffer.concat(chunks).toString())))
  })
}

function read(text: string): Passed {
  try {
    const answer = JSON.parse(text) as DaemonAnswer
    return 'busy' in answer ? { kind: 'down', problem: 'it has too many calls' } : { kind: 'answered', ...answer }
  } catch {
    return { kind: 'lost', problem: ENDED }
  }
}
