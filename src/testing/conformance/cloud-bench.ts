import type { Json } from '../../crd/meta/object.js'
import type { ExternalFailure, ExternalResult } from '../../plan/index.js'
import type { Cloud, CloudAddress, CloudInput, CloudNetwork, SeenAddress } from '../../provider/external/cloud.js'
import type { CloudTrouble, CloudTroubleKind } from '../cloud/troubles.js'
import { ConformanceError, expectEqual, expectTrue } from './harness.js'

/** What not every cloud knows. */
export type CloudFeature =
  /** A pool may name no network. */
  | 'defaultNetwork'
  /** Addresses have tags that other tools set. */
  | 'tags'
  /** What uses an address: `operator.attach` is there. */
  | 'attachments'
  /** `operator.inject` is there. */
  | 'troubles'

/**
 * A cloud for one case of the conformance suite, with a network that no other case creates
 * addresses in.
 */
export interface CloudUnderTest {
  readonly cloud: Cloud
  readonly access: Json
  /** What the spec of a pool says to name the network. With `defaultNetwork`, null finds it too. */
  readonly network: Json
  /** What a spec says of a network that does not exist. */
  readonly unknownNetwork: Json
  readonly operator: CloudOperator
}

/** What an operator does in the cloud itself, with other tools than those of this library. */
export interface CloudOperator {
  /**
   * Creates an address in the network of the case. `tags` is given only if the cloud knows some.
   */
  create(wanted: { readonly tags?: readonly string[] | undefined }): Promise<Pick<CloudAddress, 'id' | 'address'>>
  /** Has something use an address. Needed for `attachments`. */
  attach?(id: string): Promise<void>
  /** Needed for `troubles`. */
  inject?(
    operation: 'createAddress' | 'markAddress' | 'deleteAddress' | 'listAddresses',
    trouble: CloudTrouble | CloudTroubleKind,
  ): void
}

/** What a case works with: the calls of one pool, whose answers have to be right. */
export class CloudBench {
  readonly cloud: Cloud
  readonly operator: CloudOperator
  readonly network: CloudNetwork
  readonly tested: CloudUnderTest
  readonly pool: CloudInput
  /** The uid of the pool. */
  readonly uid = '8a7e1b8e-5f0c-4c0b-9a55-3b8c2f3f0a01'

  constructor(tested: CloudUnderTest, network: CloudNetwork) {
    this.tested = tested
    this.cloud = tested.cloud
    this.operator = tested.operator
    this.network = network
    this.pool = { pool: { namespace: 'office', name: 'public' }, access: tested.access }
  }

  static async open(tested: CloudUnderTest): Promise<CloudBench> {
    const input = { pool: { namespace: 'office', name: 'public' }, access: tested.access, network: tested.network }
    return new CloudBench(tested, expectAnswer(await tested.cloud.findNetwork(input), 'findNetwork'))
  }

  marker(claim: string): string {
    return `${this.uid}/${claim}`
  }

  create(claim: string): Promise<ExternalResult<CloudAddress>> {
    return this.cloud.createAddress({ ...this.pool, network: this.network.id, marker: this.marker(claim) })
  }

  /** An address that a call has created. */
  async created(claim: string): Promise<CloudAddress> {
    return expectAnswer(await this.create(claim), 'createAddress')
  }

  mark(seen: SeenBy, marker: string): Promise<ExternalResult<CloudAddress>> {
    return this.cloud.markAddress({ ...this.pool, seen: seenOf(seen), marker })
  }

  /** An address with another marker. */
  async marked(seen: SeenBy, marker: string): Promise<CloudAddress> {
    return expectAnswer(await this.mark(seen, marker), 'markAddress')
  }

  delete(seen: SeenBy): Promise<ExternalResult<Json>> {
    return this.cloud.deleteAddress({ ...this.pool, seen: seenOf(seen), address: seen.address })
  }

  /** All addresses of the network that a list for these names shows. */
  async list(wanted: { readonly [name in 'markers' | 'tags' | 'addresses']?: readonly string[] } = {}) {
    const input = { markers: [`${this.uid}/`], tags: [], addresses: [], ...wanted, network: this.network.id }
    return expectAnswer(await this.cloud.listAddresses({ ...this.pool, ...input }), 'listAddresses').addresses
  }

  /** An address as a list shows it that names it. */
  async listed({ id, address }: { readonly id: string; readonly address: string }): Promise<CloudAddress | undefined> {
    return (await this.list({ addresses: [address] })).find((it) => it.id === id)
  }

  /** An address that an operator has created. */
  async foreign(tags?: readonly string[]): Promise<CloudAddress> {
    const found = await this.listed(await this.operator.create({ tags }))
    expectTrue(found !== undefined, 'a list shows the address that an operator has created')
    return found
  }
}

type SeenBy = Pick<CloudAddress, 'id' | 'address' | 'marker' | 'revision'>

function seenOf({ id, marker, revision = '' }: SeenBy): SeenAddress {
  return { id, marker, revision }
}

/** The value of a result that should be one. */
export function expectAnswer<T>(result: ExternalResult<T>, what: string): T {
  if (result.ok) return result.value
  throw new ConformanceError(`${what}: expected no failure, got ${JSON.stringify(result.failure)}`)
}

/** The failure of a result that should be one with these members. */
export function expectRefusal(
  result: ExternalResult<unknown>,
  members: Partial<ExternalFailure>,
  what: string,
): ExternalFailure {
  if (result.ok) throw new ConformanceError(`${what}: expected a failure, got ${JSON.stringify(result.value)}`)
  const { failure } = result
  for (const [name, value] of Object.entries(members)) {
    expectEqual(failure[name as keyof ExternalFailure], value, `${what}: ${name} of ${JSON.stringify(failure)}`)
  }
  expectTrue(failure.message !== '' && !failure.message.endsWith('.'), `${what}: a message without a full stop`)
  return failure
}
