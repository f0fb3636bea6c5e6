import * as Address from '../../../cidr/nouns/address.js'
import { check as checkArgument } from '../../../errors/check.js'
import type { Change, Step, Task } from '../../../plan/index.js'
import { rowsToReuse } from '../choose/owner.js'
import { reservationRef, TaskObjects } from './objects.js'
import type { CheckOutcome } from './outcome.js'
import { type Place, placesOf } from './places.js'
import { CHECK_REQUEST, type CheckRequest, DEFAULT_NAMESPACE, ownerOf } from './request.js'

/**
 * The task of a CNI CHECK: whether each range has a row of the container and its interface, with
 * its reservation. It writes nothing. Upstream has no CHECK.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function check(request: CheckRequest): Task<CheckOutcome> {
  checkArgument<unknown>('check', 'request', request, CHECK_REQUEST)
  return new CheckTask(request)
}

class CheckTask implements Task<CheckOutcome> {
  readonly #request: CheckRequest
  readonly #objects = new TaskObjects()

  constructor(request: CheckRequest) {
    this.#request = request
  }

  observe(change: Change): void {
    this.#objects.observe(change)
  }

  next(): Step<CheckOutcome> {
    const places = placesOf(this.#request, this.#objects)
    if (places.kind === 'step') return places.step
    if (places.kind !== 'places') return missing(places.message)
    const read = this.#objects.read(
      places.places.map(({ pool }) => pool),
      'the rows of the container',
    )
    if (read !== undefined) return read
    const found: Address.Address[] = []
    for (const place of places.places) {
      const address = this.#addressIn(place, found)
      if (address === undefined) return missing(`IPPool ${place.pool.name} has no row of ${this.#request.containerId}`)
      found.push(address)
    }
    return this.#reservationStep(found) ?? this.#compare(found)
  }

  /** An ADD that was killed can leave a second row of the container: that of the answer counts. */
  #addressIn({ pool }: Place, found: readonly Address.Address[]): Address.Address | undefined {
    const reading = this.#objects.pool(pool)
    if (reading.kind !== 'pool') return undefined
    const isOneOf = (addresses: readonly Address.Address[], address: Address.Address) =>
      addresses.some((other) => Address.equals(other, address))
    const own = rowsToReuse(reading.rows, ownerOf(this.#request), 'container')
      .map(({ address }) => address)
      .filter((address) => !isOneOf(found, address))
    const { addresses = [] } = this.#request
    return own.find((address) => isOneOf(addresses, address)) ?? own[0]
  }

  #reservationStep(found: readonly Address.Address[]): Step<CheckOutcome> | undefined {
    const { config } = this.#request
    const namespace = this.#request.namespace || DEFAULT_NAMESPACE
    if (!config.overlappingRanges) return undefined
    const { networkName } = config
    const refs = found.flatMap((address) => reservationRef(address, { namespace, networkName }) ?? [])
    const read = this.#objects.read(refs, 'the reservations of the addresses')
    if (read !== undefined) return read
    const { podref } = ownerOf(this.#request)
    for (const ref of refs) {
      const reservation = this.#objects.reservation(ref)
      if (reservation.kind !== 'present') return missing(`there is no reservation ${ref.name}`)
      if (reservation.spec.podref !== podref) return missing(`reservation ${ref.name} is that of another Pod`)
    }
    return undefined
  }

  #compare(found: readonly Address.Address[]): Step<CheckOutcome> {
    const { addresses, config } = this.#request
    const given = [...found, ...config.addresses.map(({ prefix }) => prefix.address)]
    const lost = addresses?.find((address) => !given.some((other) => Address.equals(other, address)))
    if (lost !== undefined) return missing(`${Address.format(lost)} has no row of the container`)
    return { kind: 'done', outcome: { kind: 'present', message: `${found.length} rows are there` } }
  }
}

function missing(message: string): Step<CheckOutcome> {
  return { kind: 'done', outcome: { kind: 'missing', message } }
}
