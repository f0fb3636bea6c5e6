import * as Address from '../../../cidr/nouns/address.js'
import type { Step, Task } from '../../../plan/index.js'
import { addressOf } from '../../blocks/block/allocation.js'
import { PoolView } from '../../blocks/pool/pool-view.js'
import { KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import type { CheckOutcome } from '../../whereabouts/tasks/outcome.js'
import { NetworkTask } from './network-task.js'
import { familiesOf, isOf, type Place, placesOf } from './places.js'
import { assertInterface, type BlockCheckRequest } from './request.js'

/**
 * The task of a CNI CHECK on blocks: whether the container and its interface have a row of each
 * pool and family, and whether those are the addresses of the earlier result. It writes nothing.
 * With `addresses` it reads only their blocks.
 *
 * @param known what the process knows of pools and blocks. Default: nothing
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function blockCheck(request: BlockCheckRequest, known: KnownBlocks = new KnownBlocks()): Task<CheckOutcome> {
  assertInterface('blockCheck', request, known)
  return new CheckTask(request, known)
}

class CheckTask extends NetworkTask<CheckOutcome> {
  readonly #request: BlockCheckRequest
  readonly #places: readonly Place[]

  constructor(request: BlockCheckRequest, known: KnownBlocks) {
    super(known)
    this.#request = request
    this.#places = placesOf(request.network)
  }

  step(): Step<CheckOutcome> {
    const read = this.readPools(this.#places) ?? this.#readBlocks()
    if (read !== undefined) return read
    const found: Address.Address[] = []
    for (const place of this.#places) {
      const view = this.known.pool(place.pool)
      if (!(view instanceof PoolView)) return missing(`there is no IPPool ${place.pool} that can be read`)
      const own = this.#ownAddresses(place)
      for (const family of familiesOf(place, view)) {
        const address = own.find((each) => each.family === family)
        if (address === undefined) {
          return missing(`IPPool ${place.pool} has no IPv${family} row of ${this.#request.containerId}`)
        }
        found.push(address)
      }
    }
    return this.#compare(found)
  }

  /** The blocks of the addresses, or all if the addresses are not known. */
  #readBlocks() {
    const { addresses } = this.#request
    if (addresses === undefined) return this.listBlocks(this.#places, 'the rows of the container')
    const names = this.#places.flatMap((place) => {
      const view = this.known.pool(place.pool)
      if (!(view instanceof PoolView)) return []
      return addresses.flatMap((address) => (isOf(place, view, address) ? (view.blockAt(address) ?? []) : []))
    })
    return this.readBlocks(names, 'the rows of the addresses')
  }

  /** The addresses of the container in a pool, those of the earlier result first. */
  #ownAddresses(place: Place): readonly Address.Address[] {
    const { containerId, ifname, addresses = [] } = this.#request
    const own = [...this.rows([place])]
      .filter(({ entry: { row } }) => row.container === containerId && row.interface === ifname)
      .map(({ parsed, entry }) => addressOf(parsed, entry))
    const isNamed = (address: Address.Address) => addresses.some((other) => Address.equals(other, address))
    return [...own.filter(isNamed), ...own]
  }

  #compare(found: readonly Address.Address[]): Step<CheckOutcome> {
    const { addresses, network } = this.#request
    const given = [...found, ...network.config.addresses.map(({ prefix }) => prefix.address)]
    const lost = addresses?.find((address) => !given.some((other) => Address.equals(other, address)))
    if (lost !== undefined) return missing(`${Address.format(lost)} has no row of the container`)
    return { kind: 'done', outcome: { kind: 'present', message: `${found.length} rows are there` } }
  }
}

function missing(message: string): Step<CheckOutcome> {
  return { kind: 'done', outcome: { kind: 'missing', message } }
}
