import type { Json } from '../../crd/meta/object.js'
import { assertParts } from '../../errors/checks.js'
import type { ExternalCall, ExternalResult } from '../../plan/index.js'

/**
 * What a cloud can do for pools that have addresses in it: the three facts that decide how a pool
 * keeps count of them.
 */
export interface CloudFacts {
  /**
   * When an address gets the marker of the pool and the claim that it was created for:
   *
   * - `atomic`: in the call that creates it. Whatever happens to the answer, the address is found
   *   again
   * - `after`: in a call of its own. An address whose answer was lost is found as one without a
   *   marker that was created in the meantime
   * - `none`: never. An address whose answer was lost is lost, unless the pool has asked for that
   *   very address; plans say so: `leakPossible`
   */
  readonly marker: 'atomic' | 'after' | 'none'
  /** Whether a certain address can be asked for. A pool then chooses from ranges of its own. */
  readonly choosesAddress: boolean
  /**
   * Whether a list can be limited to the addresses of a pool. Otherwise all addresses of the
   * network are listed.
   */
  readonly listsByMarker: boolean
}

/** An address as the cloud has it. */
export interface CloudAddress {
  /** Of the cloud, for this one address: an address that is created later never has it. */
  readonly id: string
  /** In any form that can be parsed. */
  readonly address: string
  /** The id of the network that it is of. */
  readonly network: string
  /** The marker as the pool set it; empty: none, or one that the pool did not set. */
  readonly marker: string
  /**
   * Whether something outside of this library uses it or may use it: a port that it is attached to,
   * or another owner.
   */
  readonly isAttached: boolean
  /**
   * When it was created, in milliseconds since 1970, by the clock of the cloud. Needed where the
   * marker is set afterwards.
   */
  readonly createdAtMs?: number | undefined
  /** Text that other tools have put on it. */
  readonly tags?: readonly string[] | undefined
}

/** The answer to a list. */
export interface CloudAddresses {
  readonly addresses: readonly CloudAddress[]
  /**
   * What the cloud has listed beside them and cannot be used, each with its reason: an address
   * outside of the network.
   */
  readonly problems?: readonly string[] | undefined
}

/** A network that addresses can be created in. */
export interface CloudNetwork {
  readonly id: string
  readonly name: string
  readonly tags?: readonly string[] | undefined
}

/**
 * What every call says of its pool. `access` is what the kind of pool says of credentials, for the
 * cloud alone to read.
 */
export interface CloudInput {
  /** Namespace and name, for texts that people read. */
  readonly pool: { readonly namespace: string; readonly name: string }
  readonly access: Json
}

/**
 * A cloud as a pool asks it. Each method answers a result and does not throw. A failure of a call
 * that changes something says `nothingDone` where that is certain: the call is then made again at
 * once when it is due. Without it the pool looks for what the call may have done first.
 *
 * An answer of another form is taken for a failure of a call that may have done something; an item
 * of a list that is no address is left out, and named in the report of the pool.
 *
 * A call that was not answered within `callSeconds` of the pools' definition has to be answered with
 * a failure, and must have no effect later than that after it was sent.
 */
export interface Cloud {
  readonly facts: CloudFacts
  /**
   * The network of a pool. `network` is what the pool says, and null if its kind lets it say
   * nothing: the only network that fits. Several or none is a failure; the pool looks again after
   * five minutes.
   */
  findNetwork(input: CloudInput & { readonly network: Json }): Promise<ExternalResult<CloudNetwork>>
  /**
   * The addresses of the network. With {@link CloudFacts.listsByMarker} those are enough whose
   * marker begins with one of `markers` (the uids that the pool has had, each with a slash), that
   * have one of `tags`, or that are named in `addresses`, in canonical form; where the marker is
   * set afterwards also those without one.
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
   * Creates one, also if another address has this marker. `marker` is ignored unless the marker is
   * atomic; `address`, the one that is asked for, is given only where it can be chosen.
   */
  createAddress(
    input: CloudInput & { readonly network: string; readonly marker: string; readonly address: string | null },
  ): Promise<ExternalResult<CloudAddress>>
  /**
   * Sets the marker, or removes it if that is empty. Text of others stays. An address with the
   * marker of another pool keeps it: a failure with `nothingDone`. Never called where the marker is
   * `none`.
   */
  markAddress(
    input: CloudInput & { readonly id: string; readonly marker: string },
  ): Promise<ExternalResult<CloudAddress>>
  /**
   * Deletes it; one that is not there is deleted. One that is attached by then is not deleted: a
   * failure that is retryable, with `nothingDone`.
   */
  deleteAddress(input: CloudInput & { readonly id: string; readonly address: string }): Promise<ExternalResult<Json>>
}

/** How long a call of a {@link Cloud} may take, in seconds. */
export const MAX_CALL_SECONDS = 60

/** The operations of a pool, by the names that calls have. */
export type CloudOperation = Exclude<keyof Cloud, 'facts'>

/** What the calls of a pool ask and are answered, as {@link Cloud} has it. */
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
  assertParts('isCloudCall', 'call', call, { operation: 'text' })
  const { operation } = call

  return OPERATIONS.includes(operation)
}

/**
 * Carries the calls of pools out: what hosts take as their caller (`ExternalCaller` of
 * ipam-kit/run).
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
 * The marker of an address: the uid of its pool, and of the claim that it was created for, or
 * `spare`. A move to another cluster changes neither.
 */
export function markerText(pool: string, claim: string): string {
  return `${pool}/${claim}`
}
