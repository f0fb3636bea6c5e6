import { asObject } from '../../crd/meta/json.js'
import { formatRef, type Json } from '../../crd/meta/object.js'
import { refuse } from '../../errors/refuse.js'
import type { Calls, LastResult } from '../../plan/calls.js'
import type { AnyCall } from '../../plan/effect.js'
import type { ExternalCall, ExternalResult } from '../../plan/index.js'
import type { AnyResult } from '../../plan/planner.js'
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
  /** {@link LastResult.order}. */
  readonly order: number
}

/** The last results for a server and an address. */
export interface KnownOfServer {
  readonly look: Look | undefined
  /** The last look, if it failed. */
  readonly lookFailure: LastResult | undefined
  /** The last change: its floating IP and port, and its result. */
  readonly change: { readonly what: string; readonly last: LastResult } | undefined
  /** After this time no attachment can have an effect, in milliseconds since 1970. */
  readonly attachesUntilMs: number
}

/** @param about the subject of the calls, from `aboutOf` */
export function knownOfServer(calls: Calls, server: string, about: string): KnownOfServer {
  const { value, last: seen } = calls.get(server, 'describeServer', about) ?? {}
  const changes = [...calls.of(server)].filter(({ call }) => isChangeOf(about, call))
  const [change] = changes
    .flatMap(({ call, last }) => (last === undefined ? [] : [{ what: changeOf(call.operation, call.input), last }]))
    .sort((left, right) => right.last.order - left.last.order)
  const attachments = changes.filter(({ call }) => call.operation === 'attachFloatingIP')
  return {
    look: value && { network: value.of as ServerNetwork, atMs: value.atMs, order: value.order },
    lookFailure: seen?.answer.ok === false ? seen : undefined,
    change,
    attachesUntilMs: Math.max(...attachments.map(({ endsAtMs }) => endsAtMs)),
  }
}

/** Stores the result of a call of a server. */
export function noteServerResult(calls: Calls, { call, answer, atMs }: AnyResult): void {
  const server = formatRef(call.about)
  const isDescription = call.operation === 'describeServer'
  const isRead = !isDescription || !answer.ok || isServerNetwork(answer.value)
  const failure = { message: 'the cloud has answered what is no description of a server', retryable: true }
  calls.answered({ call, answer: isRead ? answer : { ok: false, failure }, atMs })
  if (isDescription) return
  // a change at an earlier revision is never made again
  const about = call.key.slice(0, -suffixOf(call.input).length)
  calls.drop(server, 'calls', (known) => {
    return isChangeOf(about, known.call) && known.call.key !== call.key && known.endsAtMs <= atMs
  })
}

function isChangeOf(about: string, { operation, key, input }: AnyCall): boolean {
  return operation !== 'describeServer' && key === `${about}${suffixOf(input)}`
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
  readonly fixedAddress?: string | undefined
  readonly revision?: number | null | undefined
}

function isServerNetwork(value: unknown): value is ServerNetwork {
  const { addresses, ports, routers, floatingIPs } = asObject(value) ?? {}
  const has = (list: unknown, member: string) =>
    Array.isArray(list) && list.every((each) => Array.isArray(asObject(each)?.[member]))
  const areObjects = Array.isArray(floatingIPs) && floatingIPs.every((each) => asObject(each) !== undefined)
  return Array.isArray(addresses) && has(ports, 'fixedIPs') && has(routers, 'subnets') && areObjects
}
