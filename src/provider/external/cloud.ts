import type { Json } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { ExternalCall, ExternalResult } from '../../plan/index.js'

/** An address in the cloud. */
export interface CloudAddress {
  /** The id in the cloud, of this address alone: an address that is created later never has it. */
  readonly id: string
  /** Any text form that can be parsed. */
  readonly address: string
  /** The id of its network. */
  readonly network: string
  /** The marker as the pool set it; empty: none, or one that the pool did not set. */
  readonly marker: string
  /**
   * Whether the address is in use or may be in use outside of this library: attached to a port, or
   * by another owner.
   */
  readonly isAttached: boolean
  /**
   * A text that differs after each change of the address, if the cloud has one: a revision, a
   * fingerprint. Left out: the cloud compares the marker alone.
   */
  readonly revision?: string | undefined
  /** Texts that other tools have set. */
  readonly tags?: readonly string[] | undefined
}

/** The answer to a list. */
export interface CloudAddresses {
  readonly addresses: readonly CloudAddress[]
  /**
   * Listed items that cannot be used, each with its reason: for example an address outside of the
   * network.
   */
  readonly problems?: readonly string[] | undefined
}

/** A network in which addresses can be created. */
export interface CloudNetwork {
  readonly id: string
  readonly name: string
  readonly tags?: readonly string[] | undefined
}

/**
 * The input of every call about its pool. `access` comes from the policy of the pool, for the cloud
 * alone to read.
 */
export interface CloudInput {
  /** Namespace and name, for messages. */
  readonly pool: { readonly namespace: string; readonly name: string }
  readonly access: Json
}

/**
 * The address that a call changes, as the pool has last seen it. The cloud changes nothing if the
 * address has another marker now, or another revision: a failure with `nothingDone`.
 */
export interface SeenAddress {
  readonly id: string
  readonly marker: string
  /** Empty: the cloud has none. */
  readonly revision: string
}

/**
 * The interface of a cloud for pools. Each method returns a result and does not throw.
 *
 * A marker is a text that the cloud stores with an address, in the call that creates it: in a
 * description, in tags, in labels, in a name. It has up to {@link MAX_MARKER} letters of ASCII,
 * digits, `-`, `/`, `.` and `_`. Whatever happens to the answer of a creation, the next list finds
 * the address by its marker. A cloud that cannot do that cannot be used: a pool would lose
 * addresses.
 *
 * A failure of a call that changes something:
 *
 * - has `nothingDone` if it is certain that nothing was changed and that nothing will be. The call
 *   is then repeated when it is due. Without it, the pool first looks for the effect of the call
 * - has `retryable: false` only if the same call cannot succeed before the pool changes: a network
 *   that does not exist, a marker that the cloud does not keep. Quotas, refused credentials, limits
 *   of rate, time-outs, and attached addresses are retryable
 *
 * An answer of another form counts as a failure of a call that may have had an effect. An item of a
 * list that is no address is left out, and named in the report of the pool.
 *
 * A call that has no answer within `callSeconds` of the definition must return a failure, and must
 * have no effect later than that. `cloudConformance` of ipam-kit/testing checks these rules.
 */
export interface Cloud {
  /**
   * Finds the network of a pool. `network` is what the pool specifies. It is null if the pool may
   * leave it out: then the only matching network is meant. No match or several are a failure; the
   * pool looks again after five minutes.
   */
  findNetwork(input: CloudInput & { readonly network: Json }): Promise<ExternalResult<CloudNetwork>>
  /**
   * Lists the addresses of the network. A list is whole, or it is a failure: an address that a list
   * lacks counts as deleted. A cloud may limit the list to addresses:
   *
   * - whose marker begins with one of `markers` (the ids of the pool so far, each with a slash)
   * - that have one of `tags`
   * - that are in `addresses`: those that the pool names, and those of IPAddress objects. Canonical
   */
  listAddresses(
    input: CloudInput & {
      readonly network: string
      readonly markers: readonly string[]
      readonly tags: readonly string[]
      readonly addresses: readonly string[]
    },
  ): Promise<ExternalResult<CloudAddresses>>
  /**
   * Creates an address with a marker, also if another one has this marker. If the cloud has not
   * stored the marker, it deletes the address again, and answers with a failure that is not
   * retryable.
   */
  createAddress(
    input: CloudInput & { readonly network: string; readonly marker: string },
  ): Promise<ExternalResult<CloudAddress>>
  /** Sets the marker, or removes it if the text is empty. Texts of other tools stay. */
  markAddress(
    input: CloudInput & { readonly seen: SeenAddress; readonly marker: string },
  ): Promise<ExternalResult<CloudAddress>>
  /**
   * Deletes an address; a missing one counts as deleted. An attached one is not deleted: a
   * retryable failure with `nothingDone`.
   */
  deleteAddress(
    input: CloudInput & { readonly seen: SeenAddress; readonly address: string },
  ): Promise<ExternalResult<Json>>
}

/** The greatest length of a marker, in characters. */
export const MAX_MARKER = 80

/** How long a call of a {@link Cloud} may take, in seconds. */
export const MAX_CALL_SECONDS = 60

/** The operations of a pool, by the names of its calls. */
export type CloudOperation = keyof Cloud

/** The inputs and answers of the calls of a pool, as in {@link Cloud}. */
export type CloudCalls = {
  readonly [K in CloudOperation]: {
    readonly input: Parameters<Cloud[K]>[0]
    readonly answer: Extract<Awaited<ReturnType<Cloud[K]>>, { readonly ok: true }>['value']
  }
}

const OPERATIONS: readonly string[] = [
  'findNetwork',
  'listAddresses',
  'createAddress',
  'markAddress',
  'deleteAddress',
] satisfies readonly CloudOperation[]

/** Whether a call is one of a pool of external addresses. */
export function isCloudCall(call: Pick<ExternalCall, 'operation'>): boolean {
  check('isCloudCall', 'call', call, ['open', { operation: 'text' }])
  const { operation } = call

  return OPERATIONS.includes(operation)
}

/**
 * Executes the calls of pools: the caller for a host (`ExternalCaller` of ipam-kit/run).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a cloud without one of the operations, and for a call
 *   that is not one of a pool: see {@link isCloudCall}
 */
export function cloudCaller(cloud: Cloud): (call: ExternalCall) => Promise<ExternalResult> {
  check<unknown>('cloudCaller', 'cloud', cloud, [
    'open',
    Object.fromEntries(OPERATIONS.map((operation) => [operation, 'function'])),
  ])
  return async (call) => {
    if (!isCloudCall(call)) refuse('cloudCaller', 'call', OPERATIONS.join(', '), call.operation)
    const ask = cloud[call.operation as CloudOperation] as unknown as (input: Json) => Promise<ExternalResult>
    return ask.call(cloud, call.input)
  }
}
