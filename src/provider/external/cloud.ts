import type { Json } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import type { ExternalCall, ExternalResult } from '../../plan/index.js'

/** The facts about a cloud that decide how a pool tracks its addresses. */
export interface CloudFacts {
  /**
   * When an address gets the marker of its pool and its claim:
   *
   * - `atomic`: in the call that creates it. Whatever happens to the answer, the address is found
   *   again
   * - `after`: in a separate call. An address whose answer was lost is found as one without a
   *   marker that was created in the meantime
   * - `none`: never. An address whose answer was lost leaks, unless the pool has requested exactly
   *   that address; plans report it as `leakPossible`
   */
  readonly marker: 'atomic' | 'after' | 'none'
  /** Whether a given address can be requested. A pool then chooses from its own ranges. */
  readonly choosesAddress: boolean
  /**
   * Whether a list can be limited to the addresses of a pool. Else all addresses of the network are
   * listed.
   */
  readonly listsByMarker: boolean
}

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
   * When it was created, in milliseconds since 1970, by the clock of the cloud. Required if the
   * marker is set afterwards.
   */
  readonly createdAtMs?: number | undefined
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
 * The interface of a cloud for pools. Each method returns a result and does not throw. A failure of
 * a call that changes something has `nothingDone` if that is certain: the call is then repeated
 * when it is due. Without it, the pool first looks for the effect of the call.
 *
 * An answer of another form counts as a failure of a call that may have had an effect. An item of a
 * list that is no address is left out, and named in the report of the pool.
 *
 * A call that has no answer within `callSeconds` of the definition must return a failure, and must
 * have no effect later than that.
 */
export interface Cloud {
  readonly facts: CloudFacts
  /**
   * Finds the network of a pool. `network` is what the pool specifies. It is null if the pool may
   * leave it out: then the only matching network is meant. No match or several are a failure; the
   * pool looks again after five minutes.
   */
  findNetwork(input: CloudInput & { readonly network: Json }): Promise<ExternalResult<CloudNetwork>>
  /**
   * Lists the addresses of the network. With {@link CloudFacts.listsByMarker} the list may be
   * limited to addresses:
   *
   * - whose marker begins with one of `markers` (the uids of the pool so far, each with a slash)
   * - that have one of `tags`
   * - that are named in `addresses`, in canonical form
   * - without a marker, if the marker is set afterwards
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
   * Creates an address, also if another one has this marker. `marker` is ignored unless the marker
   * is atomic; `address` is the requested one, and set only if the cloud can choose it.
   */
  createAddress(
    input: CloudInput & { readonly network: string; readonly marker: string; readonly address: string | null },
  ): Promise<ExternalResult<CloudAddress>>
  /**
   * Sets the marker, or removes it if the text is empty. Texts of other tools stay. An address with
   * the marker of another pool keeps it: a failure with `nothingDone`. Never called if the marker
   * is `none`.
   */
  markAddress(
    input: CloudInput & { readonly id: string; readonly marker: string },
  ): Promise<ExternalResult<CloudAddress>>
  /**
   * Deletes an address; a missing one counts as deleted. An attached one is not deleted: a
   * retryable failure with `nothingDone`.
   */
  deleteAddress(input: CloudInput & { readonly id: string; readonly address: string }): Promise<ExternalResult<Json>>
}

/** How long a call of a {@link Cloud} may take, in seconds. */
export const MAX_CALL_SECONDS = 60

/** The operations of a pool, by the names of its calls. */
export type CloudOperation = Exclude<keyof Cloud, 'facts'>

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
 * @throws Error for a call that is not one of a pool: see {@link isCloudCall}
 */
export function cloudCaller(cloud: Cloud): (call: ExternalCall) => Promise<ExternalResult> {
  return async (call) => {
    if (!isCloudCall(call)) throw new Error(`not a call of a pool of external addresses: ${call.operation}`)
    const ask = cloud[call.operation as CloudOperation] as unknown as (input: Json) => Promise<ExternalResult>
    return ask.call(cloud, call.input)
  }
}

/**
 * The marker of an address: the uid of its pool, and of its claim, or `spare`. A move to another
 * cluster changes neither.
 */
export function markerText(pool: string, claim: string): string {
  return `${pool}/${claim}`
}
