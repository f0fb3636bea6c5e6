import type { Json } from '../../crd/meta/object.js'
import type { ExternalFailure, ExternalResult } from '../../plan/index.js'
import {
  type Cloud,
  type CloudAddress,
  type CloudFacts,
  type CloudInput,
  type CloudNetwork,
  markerText,
} from '../../provider/external/cloud.js'
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
  readonly facts: CloudFacts
  readonly operator: CloudOperator
  readonly network: CloudNetwork
  readonly tested: CloudUnderTest
  readonly pool: CloudInput
  /** The uid of the pool. */
  readonly uid = '8a7e1b8e-5f0c-4c0b-9a55-3b8c2f3f0a01'

  constructor(tested: CloudUnderTest, network: CloudNetwork) {
    this.tested = tested
    this.cloud = tested.cloud
    this.facts = tested.cloud.facts
    this.operator = tested.operator
    this.network = network
    this.pool = { pool: { namespace: 'office', name: 'public' }, access: tested.access }
  }

  static async open(tested: CloudUnderTest): Promise<CloudBench> {
    const input = { pool: { namespace: 'office', name: 'public' }, access: tested.access, network: tested.network }
    return new CloudBench(tested, expectAnswer(await tested.cloud.findNetwork(input), 'findNetwork'))
  }

  marker(claim: string): string {
    return markerText(this.uid, claim)
  }

  create(claim: string, address: string | null = null): Promise<ExternalResult<CloudAddress>> {
    const marker = this.marker(claim)
    return this.cloud.createAddress({ ...this.pool, network: this.network.id, marker, address })
  }

  /** An address that a call has created. */
  async created(claim: string): Promise<CloudAddress> {
    return expectAnswer(await this.create(claim), 'createAddress')
  }

  mark(id: string, marker: string): Promise<ExternalResult<CloudAddress>> {
    return this.cloud.markAddress({ ...this.pool, id, marker })
  }

  delete({ id, address }: { readonly id: string; readonly address: string }): Promise<ExternalResult<Json>> {
    return this.cloud.deleteAddress({ ...this.pool, id, address })
  }

  /** All addresses of the network that a list for these names shows. */
  async list(wanted: { readonly tags?: readonly string[]; readonly addresses?: readonly string[] } = {}) {
    const input = { tags: [], addresses: [], ...wanted, network: this.network.id, markers: [`${this.uid}/`] }
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
