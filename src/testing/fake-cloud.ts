import type { Json } from '../crd/meta/object.js'
import { refuse } from '../errors/refuse.js'
import type { ExternalFailure, ExternalResult } from '../plan/index.js'
import type { Cloud, CloudAddress, CloudAddresses, CloudFacts, CloudNetwork } from '../provider/external/cloud.js'
import type { ServerCloud } from '../provider/openstack/index.js'
import {
  MAX_DESCRIPTION,
  markerIn,
  mayReplace,
  newDescription,
  withMarker,
} from '../provider/openstack/neutron/description.js'
import type { FloatingIP, ServerNetwork } from '../provider/openstack/server-cloud.js'
import type { FakeFloatingIP } from './cloud/objects.js'
import { FakeCloudError, type FakeCloudErrorCode } from './cloud/troubles.js'
import { FakeCloudWorld, type FakeCloudWorldOptions } from './cloud/world.js'

/** The options of a {@link FakeCloud}. */
export interface FakeCloudOptions extends FakeCloudWorldOptions {
  /** Default as Neutron: marker `atomic`, no choice of addresses, no list by marker. */
  readonly facts?: Partial<CloudFacts> | undefined
  /** The project of the pools and servers with this `access`. Default `project` for all. */
  readonly projectOf?: ((access: Json) => string) | undefined
}

type Input<K extends keyof Cloud> = Cloud[K] extends (input: infer I) => unknown ? I : never
type ServerInput<K extends keyof ServerCloud> = Parameters<ServerCloud[K]>[0]

/**
 * A cloud in memory, modelled on Neutron, for any values of the three facts. It is deterministic:
 * the time comes from `now`, the delay from `latency`, and faults from `inject`.
 *
 * Create, change and inspect its objects through {@link FakeCloudWorld}. Markers are in the
 * description of a floating IP, as those of `neutron`: both can use the same cloud.
 *
 * @example
 * const cloud = new FakeCloud({ now: () => 0 })
 * cloud.addNetwork({ name: 'public', cidrs: ['203.0.113.0/24'] })
 * cloud.inject('createAddress', 'lostAnswer')
 */
export class FakeCloud extends FakeCloudWorld implements Cloud, ServerCloud {
  readonly facts: CloudFacts
  readonly #projectOf: (access: Json) => string

  constructor(options: FakeCloudOptions) {
    super(options)
    this.facts = { marker: 'atomic', choosesAddress: false, listsByMarker: false, ...options.facts }
    this.#projectOf = options.projectOf ?? (() => 'project')
  }

  findNetwork({ network }: Input<'findNetwork'>): Promise<ExternalResult<CloudNetwork>> {
    return this.#answer('findNetwork', () => {
      const found = this.networksMatching(network)
      const [only] = found
      if (found.length !== 1 || only === undefined) {
        const problem = found.length === 0 ? 'no external network' : `${found.length} external networks`
        throw new FakeCloudError(
          'networkNotFound',
          `unable to find the network: ${problem} for ${JSON.stringify(network)}`,
        )
      }
      return { id: only.id, name: only.name, tags: only.tags }
    })
  }

  listAddresses({
    access,
    network,
    markers,
    tags,
    addresses,
  }: Input<'listAddresses'>): Promise<ExternalResult<CloudAddresses>> {
    const isWanted = (found: CloudAddress) =>
      !this.facts.listsByMarker ||
      (this.facts.marker === 'after' && found.marker === '') ||
      markers.some((marker) => found.marker.startsWith(marker)) ||
      found.tags?.some((tag) => tags.includes(tag)) ||
      addresses.includes(found.address)
    return this.#answer('listAddresses', () => {
      const listed = this.listed({ network, project: this.#projectOf(access) })
      const addresses = listed.filter((it) => this.isInside(it)).map((it) => this.#seen(it))
      const problems = listed.filter((it) => !this.isInside(it)).map((it) => `${it.address} is in no subnet`)
      return { addresses: addresses.filter(isWanted), ...(problems.length > 0 && { problems }) }
    })
  }

  createAddress(input: Input<'createAddress'>): Promise<ExternalResult<CloudAddress>> {
    const { pool, access, network, marker } = input
    const address = this.facts.choosesAddress ? input.address : null
    const description = this.facts.marker === 'atomic' ? newDescription(pool, marker) : ''
    return this.#answer('createAddress', (trouble) => {
      const created = this.create({ network, project: this.#projectOf(access), description, address }, trouble)
      if (this.isInside(created)) return this.#seen(created)
      this.delete(created.id)
      throw new FakeCloudError('outside', `${created.address} is in no subnet of network ${network}`)
    })
  }

  markAddress({ id, marker }: Input<'markAddress'>): Promise<ExternalResult<CloudAddress>> {
    if (this.facts.marker === 'none') refuse('FakeCloud', 'markAddress', 'a cloud that keeps markers', id)
    return this.#answer('markAddress', () => {
      const { description: before } = this.show(id)
      const has = markerIn(before)
      if (!mayReplace(has, marker)) {
        throw new FakeCloudError('inUse', `${id} has the marker of another pool: ${has}`)
      }
      const description = withMarker(before, marker)
      if (description.length > MAX_DESCRIPTION) {
        throw new FakeCloudError('invalid', `the description of ${id} has no room for a marker`)
      }
      return this.#seen(this.update(id, { description }))
    })
  }

  deleteAddress({ id }: Input<'deleteAddress'>): Promise<ExternalResult<Json>> {
    return this.#answer('deleteAddress', () => {
      const floatingIP = this.find(id)
      if (floatingIP === undefined) return {}
      if (floatingIP.port !== '') {
        throw new FakeCloudError('attached', `${floatingIP.address} is attached to port ${floatingIP.port}`)
      }
      this.delete(id)
      return {}
    })
  }

  describeServer({ access, server, address }: ServerInput<'describeServer'>): Promise<ExternalResult<ServerNetwork>> {
    return this.#answer('describeServer', () => {
      const listed = this.listed({ project: this.#projectOf(access) })
      const ports = this.ports.filter(({ device }) => device === server)
      const fixed = ports.flatMap(({ fixedIPs }) => fixedIPs.map((it) => it.address))
      const floating = listed.filter(({ port }) => ports.some(({ id }) => id === port)).map((it) => it.address)
      const found = listed.find((it) => it.address === address)
      return {
        addresses: [...fixed, ...floating],
        ports: ports.map(({ id, fixedIPs }) => ({ id, subnets: fixedIPs.map(({ subnet }) => subnet) })),
        routers: this.routersIn(ports.map(({ network }) => network)).map(({ id, subnets, gatewayNetwork }) => ({
          id,
          subnets,
          ...(gatewayNetwork !== '' && { gatewayNetwork }),
        })),
        ...(found && { floatingIP: floatingIPOf(found) }),
      }
    })
  }

  attachFloatingIP({ id, port, revision }: ServerInput<'attachFloatingIP'>): Promise<ExternalResult<Json>> {
    return this.#answer('attachFloatingIP', () => {
      this.update(id, { port }, revision)
      return {}
    })
  }

  detachFloatingIP({ id, port }: ServerInput<'detachFloatingIP'>): Promise<ExternalResult<Json>> {
    return this.#answer('detachFloatingIP', () => {
      if (this.find(id)?.port === port) this.update(id, { port: '' })
      return {}
    })
  }

  /** A floating IP as the facts let a pool see it. */
  #seen({ id, address, network, description, port, createdAtMs, tags }: FakeFloatingIP): CloudAddress {
    const marker = this.facts.marker === 'none' ? '' : markerIn(description)
    return { id, address, network, marker, isAttached: port !== '', createdAtMs, tags }
  }

  async #answer<T>(
    operation: Exclude<keyof Cloud, 'facts'> | keyof ServerCloud,
    action: Parameters<FakeCloudWorld['perform']>[1] extends (trouble: infer R) => unknown ? (trouble: R) => T : never,
  ): Promise<ExternalResult<T>> {
    try {
      return { ok: true, value: await this.perform(operation, action) }
    } catch (error) {
      if (error instanceof FakeCloudError) return { ok: false, failure: failureOf(error) }
      throw error
    }
  }
}

function floatingIPOf({ id, address, network, port, revision }: FakeFloatingIP): FloatingIP {
  return { id, address, network, port, revision }
}

/** What each error says of a call beside its message. */
const FAILURES: { readonly [code in FakeCloudErrorCode]: Omit<ExternalFailure, 'message' | 'retryAfterSeconds'> } = {
  noAnswer: { retryable: true },
  unavailable: { retryable: true },
  rateLimited: { retryable: true, nothingDone: true },
  quota: { retryable: true, nothingDone: true, reason: 'BackendExhausted' },
  networkFull: { retryable: true, nothingDone: true, reason: 'BackendExhausted' },
  denied: { retryable: true, nothingDone: true, reason: 'BackendDenied' },
  notFound: { retryable: true, nothingDone: true },
  networkNotFound: { retryable: false, nothingDone: true, reason: 'PoolNotReady' },
  inUse: { retryable: true, nothingDone: true },
  attached: { retryable: true, nothingDone: true },
  outside: { retryable: true, nothingDone: true },
  revision: { retryable: true, nothingDone: true },
  invalid: { retryable: false, nothingDone: true },
}

function failureOf({ code, message, retryAfterSeconds }: FakeCloudError): ExternalFailure {
  return { message, ...FAILURES[code], ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) }
}
