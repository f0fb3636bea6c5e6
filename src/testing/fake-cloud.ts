import type { Json } from '../crd/meta/object.js'
import type { ExternalFailure, ExternalResult } from '../plan/index.js'
import type { Cloud, CloudAddress, CloudAddresses, CloudNetwork, SeenAddress } from '../provider/external/cloud.js'
import type { ServerCloud } from '../provider/openstack/index.js'
import { fitsMarker, markerIn, newDescription, withMarker } from '../provider/openstack/neutron/description.js'
import type { FloatingIP, ServerNetwork } from '../provider/openstack/server-cloud.js'
import type { FakeFloatingIP } from './cloud/objects.js'
import { FakeCloudError, type FakeCloudErrorCode } from './cloud/troubles.js'
import { FakeCloudWorld, type FakeCloudWorldOptions } from './cloud/world.js'

/** The options of a {@link FakeCloud}. */
export interface FakeCloudOptions extends FakeCloudWorldOptions {
  /** Whether a list has only the addresses that its input names. Default false, as Neutron. */
  readonly limitsLists?: boolean | undefined
  /** The project of the pools and servers with this `access`. Default `project` for all. */
  readonly projectOf?: ((access: Json) => string) | undefined
}

type Input<K extends keyof Cloud> = Cloud[K] extends (input: infer I) => unknown ? I : never
type ServerInput<K extends keyof ServerCloud> = Parameters<ServerCloud[K]>[0]

/**
 * A cloud in memory, modelled on Neutron. It is deterministic: the time comes from `now`, the delay
 * from `latency`, and faults from `inject`.
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
  readonly #limitsLists: boolean
  readonly #projectOf: (access: Json) => string

  constructor(options: FakeCloudOptions) {
    super(options)
    this.#limitsLists = options.limitsLists === true
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
      !this.#limitsLists ||
      markers.some((marker) => found.marker.startsWith(marker)) ||
      found.tags?.some((tag) => tags.includes(tag)) ||
      addresses.includes(found.address)
    return this.#answer('listAddresses', () => {
      const listed = this.listed({ network, project: this.#projectOf(access) })
      const addresses = listed.filter((it) => this.isInside(it)).map(cloudAddressOf)
      const problems = listed.filter((it) => !this.isInside(it)).map((it) => `${it.address} is in no subnet`)
      return { addresses: addresses.filter(isWanted), ...(problems.length > 0 && { problems }) }
    })
  }

  createAddress({ pool, access, network, marker }: Input<'createAddress'>): Promise<ExternalResult<CloudAddress>> {
    return this.#answer('createAddress', (trouble) => {
      const description = describedAs(newDescription(pool, marker), marker)
      const created = this.create({ network, project: this.#projectOf(access), description }, trouble)
      const hasMarker = markerIn(created.description) === marker
      if (hasMarker && this.isInside(created)) return cloudAddressOf(created)
      this.delete(created.id)
      if (!hasMarker) throw new FakeCloudError('invalid', `the cloud does not keep the marker ${marker}`)
      throw new FakeCloudError('outside', `${created.address} is in no subnet of network ${network}`)
    })
  }

  markAddress({ seen, marker }: Input<'markAddress'>): Promise<ExternalResult<CloudAddress>> {
    return this.#answer('markAddress', () => {
      const before = this.show(seen.id)
      checkSeen(before, seen)
      const description = describedAs(withMarker(before.description, marker), marker)
      return cloudAddressOf(this.update(seen.id, { description }))
    })
  }

  deleteAddress({ seen }: Input<'deleteAddress'>): Promise<ExternalResult<Json>> {
    return this.#answer('deleteAddress', () => {
      const floatingIP = this.find(seen.id)
      if (floatingIP === undefined) return {}
      checkSeen(floatingIP, seen)
      if (floatingIP.port !== '') {
        throw new FakeCloudError('attached', `${floatingIP.address} is attached to port ${floatingIP.port}`)
      }
      this.delete(seen.id)
      return {}
    })
  }

  describeServer({ access, server, address }: ServerInput<'describeServer'>): Promise<ExternalResult<ServerNetwork>> {
    return this.#answer('describeServer', () => {
      const listed = this.listed({ project: this.#projectOf(access) })
      const ports = this.ports.filter(({ device }) => device === server)
      const fixed = ports.flatMap(({ fixedIPs }) => fixedIPs.map((it) => it.address))
      const floating = listed.filter(({ port }) => ports.some(({ id }) => id === port)).map((it) => it.address)
      const found = listed.filter((it) => it.address === address)
      return {
        addresses: [...fixed, ...floating],
        ports: ports.map(({ id, fixedIPs }) => ({ id, fixedIPs })),
        routers: this.routersIn(ports.map(({ network }) => network)).map(({ id, subnets, gatewayNetwork }) => ({
          id,
          subnets,
          ...(gatewayNetwork !== '' && { gatewayNetwork }),
        })),
        floatingIPs: found.map(floatingIPOf),
      }
    })
  }

  attachFloatingIP({
    id,
    port,
    fixedAddress,
    revision,
  }: ServerInput<'attachFloatingIP'>): Promise<ExternalResult<Json>> {
    return this.#answer('attachFloatingIP', () => {
      this.checkFixed(port, fixedAddress)
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

  async #answer<T>(
    operation: keyof Cloud | keyof ServerCloud,
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

function cloudAddressOf({ id, address, network, description, port, revision, tags }: FakeFloatingIP): CloudAddress {
  const marker = markerIn(description)
  return { id, address, network, marker, isAttached: port !== '', revision: String(revision), tags }
}

/** @throws FakeCloudError `revision` for an address that was changed since it was seen */
function checkSeen({ description, revision }: FakeFloatingIP, { id, marker, revision: seen }: SeenAddress): void {
  const has = markerIn(description)
  if (has !== marker) throw new FakeCloudError('revision', `${id} has the marker ${has}, and not ${marker}`)
  if (seen !== '' && seen !== String(revision)) {
    throw new FakeCloudError('revision', `${id} has revision ${revision}, and not ${seen}`)
  }
}

/** The description, if it can have the marker. @throws FakeCloudError `invalid` */
function describedAs(description: string, marker: string): string {
  if (fitsMarker(description, marker)) return description
  throw new FakeCloudError('invalid', `the description has no room for the marker ${marker}`)
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
