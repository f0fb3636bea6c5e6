import { setTimeout as sleep } from 'node:timers/promises'
import { Address, Prefix } from 'ipam-kit/cidr'
import { IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { blocksOperator } from 'ipam-kit/provider/blocks'
import { runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import type { IPBlockRow } from '../../src/crd/ipam-kit/ip-block.js'
import { ROWS_FINALIZER } from '../../src/crd/ipam-kit/names.js'
import { Client } from '../../test/real/controller/client.js'
import type { RealKubernetes } from '../../test/real/servers/kubernetes.js'
import { POOLS, poolWith, type Row } from './peer/pool.js'
import type { Processes, Round } from './processes.js'
import { INTERFACE, podOf } from './worker.js'

const SUBNET = '10.0.0.0/18'
const BLOCK_BITS = 8
/** How long watches may take to tell of a pool that was made, in milliseconds. */
const TOLD_MS = 500
/** Numbers of owners that no process has. */
const SEED = 1_000_000

/**
 * Allocations of pools that have given so many addresses before: each round has a pool of its own.
 */
export class Rounds {
  readonly #store: Store
  readonly #client: Client
  #round = 0

  constructor(server: RealKubernetes, store: Store) {
    this.#store = store
    this.#client = new Client(server, 1)
  }

  close(): void {
    this.#client.close()
  }

  /** Addresses of blocks. @param rows how many the pool has given before */
  async ours(processes: Processes, rows: number, each: number): Promise<Round> {
    const name = `pool-${this.#round++}`
    const { apiVersion, kind } = IPPool.info
    const spec = { domain: name, subnets: [{ cidr: SUBNET }] }
    unwrap(await this.#store.create({ apiVersion, kind, metadata: { name }, spec }))
    for (const block of blocksWith(name, rows)) unwrap(await this.#store.create(block))
    const { failures } = await runUntilQuiet(this.#store, [blocksOperator()], { now: Date.now })
    if (failures.length > 0) throw new Error(JSON.stringify(failures))
    await sleep(TOLD_MS)
    return processes.allocate(name, each)
  }

  /** Addresses of one object that has them all. */
  async peer(processes: Processes, rows: number, each: number): Promise<Round> {
    const name = `pool-${this.#round++}`
    const allocations: { [offset: string]: Row } = {}
    for (let offset = 1; offset <= rows; offset++) {
      const { name: podref, container: id } = podOf(SEED + offset)
      allocations[offset] = { id, podref, ifname: INTERFACE }
    }
    await this.#client.send('POST', POOLS, { body: poolWith(name, allocations) })
    return processes.allocate(name, each)
  }
}

/** The blocks of a pool, and of the domain of its name, of which the first addresses are given. */
function* blocksWith(pool: string, rows: number): IterableIterator<KubeObject> {
  const { apiVersion, kind } = IPBlock.info
  const size = 2 ** BLOCK_BITS
  const base = Prefix.first(Prefix.parse(SUBNET))
  for (let first = 0; first <= rows && rows > 0; first += size) {
    const prefix = Prefix.of(Address.add(base, first), 32 - BLOCK_BITS)
    const hex = Address.toBigInt(Prefix.first(prefix)).toString(16).padStart(8, '0')
    const given: { [unit: string]: IPBlockRow } = {}
    // the first address of the subnet is not given
    for (let offset = Math.max(1, first); offset <= Math.min(rows, first + size - 1); offset++) {
      const { name: owner, uid, container } = podOf(SEED + offset)
      given[offset - first] = { owner, uid, container, interface: INTERFACE, sequence: offset }
    }
    const place = { cidr: Prefix.format(prefix), domain: pool, allocationPrefixLength: 32, pool }
    yield {
      apiVersion,
      kind,
      metadata: { name: `${pool}-4-${hex}-${prefix.length}`, finalizers: [ROWS_FINALIZER] },
      spec: { ...place, sequence: rows, rows: given },
    }
  }
}
