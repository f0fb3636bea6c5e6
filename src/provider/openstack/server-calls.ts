import { asObject } from '../../crd/meta/json.js'
import type { Json } from '../../crd/meta/object.js'
import { refuse } from '../../errors/refuse.js'
import type { ExternalCall, ExternalFailure, ExternalResult } from '../../plan/index.js'
import type { AnyResult } from '../../plan/planner.js'
import type { LastResult } from '../claims/external.js'
import type { ServerCloud, ServerNetwork } from './server-cloud.js'

/** The operations of a server, by the names that calls have. */
export type ServerOperation = keyof ServerCloud

const OPERATIONS: readonly string[] = [
  'describeServer',
  'attachFloatingIP',
  'detachFloatingIP',
] satisfies readonly ServerOperation[]

/** Whether a call is one of a server. */
function isServerCall({ operation }: Pick<ExternalCall, 'operation'>): boolean {
  return OPERATIONS.includes(operation)
}

/**
 * Executes the calls of servers: the caller for a host (`ExternalCaller` of ipam-kit/run).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a call that is not one of a server
 */
export function serverCloudCaller(cloud: ServerCloud): (call: ExternalCall) => Promise<ExternalResult> {
  return async (call) => {
    if (!isServerCall(call)) refuse('serverCloudCaller', 'call', OPERATIONS.join(', '), call.operation)
    const ask = cloud[call.operation as ServerOperation] as unknown as (input: Json) => Promise<ExternalResult>
    return ask.call(cloud, call.input)
  }
}

/** The state of a server and its address in the cloud. */
export interface Look {
  readonly network: ServerNetwork
  readonly atMs: number
  /** The number of the answer among those of the server, in order of arrival. */
  readonly order: number
}

/** The last answers for a server and an address. */
export interface KnownOfServer {
  readonly look?: Look | undefined
  /** The last look, if it failed. */
  readonly lookFailure?: LastResult | undefined
  /** The last change: its floating IP and port, and the answer. */
  readonly change?: { readonly what: string; readonly last: LastResult; readonly order: number } | undefined
  /** When the result of an attachment last became unknown. */
  readonly unknownAttachAtMs?: number | undefined
}

/** The answers to the calls for servers, by server and by subject of the call. */
export class ServerAnswers {
  readonly #known = new Map<string, Map<string, KnownOfServer>>()
  readonly #generations = new Map<string, number>()
  #count = 0

  /** @param about the subject of the calls, from `aboutOf` */
  of(server: string, about: string): KnownOfServer {
    return this.#known.get(server)?.get(about) ?? {}
  }

  /** Stores an answer. */
  onResult(server: string, { call, answer, atMs }: AnyResult): void {
    const about = call.operation === 'describeServer' ? call.key : call.key.slice(0, -suffixOf(call.input).length)
    const known = this.of(server, about)
    const order = ++this.#count
    const failed = (before: LastResult | undefined, failure: ExternalFailure): LastResult => ({
      answer: { ok: false, failure },
      atMs,
      failures: (before?.failures ?? 0) + 1,
    })
    if (call.operation !== 'describeServer') {
      const what = changeOf(call.operation, call.input)
      const before = known.change?.what === what ? known.change.last : undefined
      const last = answer.ok ? { answer, atMs, failures: 0 } : failed(before, answer.failure)
      const isUnknown = call.operation === 'attachFloatingIP' && !answer.ok && answer.failure.nothingDone !== true
      const unknown = isUnknown ? { unknownAttachAtMs: atMs } : {}
      this.#set(server, about, { ...known, change: { what, last, order }, ...unknown })
    } else if (!answer.ok) {
      this.#set(server, about, { ...known, lookFailure: failed(known.lookFailure, answer.failure) })
    } else if (isServerNetwork(answer.value)) {
      this.#set(server, about, { ...known, lookFailure: undefined, look: { network: answer.value, atMs, order } })
    } else {
      const failure = { message: 'the cloud has answered what is no description of a server', retryable: true }
      this.#set(server, about, { ...known, lookFailure: failed(known.lookFailure, failure) })
    }
  }

  /**
   * Called when a server was observed. After a change of its spec the cloud may answer differently:
   * failed calls may be made again.
   */
  observe(server: string, generation = 0): void {
    const before = this.#generations.get(server)
    this.#generations.set(server, generation)
    if (before === undefined || before === generation) return
    for (const [about, known] of this.#known.get(server) ?? []) {
      const change = known.change?.last.answer.ok === true ? known.change : undefined
      this.#set(server, about, { ...known, change, lookFailure: undefined })
    }
  }

  /** Called when the server does not exist any more, or is another one. */
  forget(server: string): void {
    this.#known.delete(server)
    this.#generations.delete(server)
  }

  #set(server: string, about: string, known: KnownOfServer): void {
    const ofServer = this.#known.get(server) ?? new Map<string, KnownOfServer>()
    this.#known.set(server, ofServer.set(about, known))
  }
}

/** The subject of a change: the same for the same floating IP and port. */
export function changeOf(operation: string, input: ChangeInput): string {
  return `${operation} ${input.id} ${input.port}`
}

/** The suffix of the key of a change: the same change at another revision has another key. */
export function suffixOf({ id, port, revision }: ChangeInput): string {
  return ` ${id}/${port}/${revision ?? ''}`
}

/** The floating IP and port of a change. */
export interface ChangeInput {
  readonly id: string
  readonly port: string
  readonly revision?: number | null | undefined
}

function isServerNetwork(value: unknown): value is ServerNetwork {
  const { addresses, ports, routers, floatingIP } = asObject(value) ?? {}
  const haveSubnets = [ports, routers].every(
    (list) => Array.isArray(list) && list.every((each) => Array.isArray(asObject(each)?.subnets)),
  )
  return Array.isArray(addresses) && haveSubnets && (floatingIP === undefined || asObject(floatingIP) !== undefined)
}
