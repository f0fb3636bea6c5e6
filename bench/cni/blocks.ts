import { Address, Prefix } from 'ipam-kit/cidr'
import { IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { blocksOperator } from 'ipam-kit/provider/blocks'
import { type BlockNetwork, blockAdd, poolsOf, readBlockNetwork } from 'ipam-kit/provider/whereabouts-blocks'
import { runTask, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'

export function networkOf(range: string): BlockNetwork {
  return unwrap(readBlockNetwork({ cniVersion: '1.1.0', name: 'lab', ipam: { type: 'ipam-kit', range } }))
}

/** One ADD of a process without a cache. */
export async function addOnBlocks(
  store: Store,
  network: BlockNetwork,
  name: string,
  nodeName = 'node-a',
): Promise<void> {
  const pod = { podNamespace: 'default', podName: name, podUid: `uid-of-${name}`, containerId: name, ifname: 'net1' }
  const added = await runTask(blockAdd({ network, ...pod, nodeName }), store, { now: Date.now })
  if (added.kind !== 'done' || added.outcome.kind !== 'allocated') throw new Error(JSON.stringify(added))
}

/** The pools of networks, each with its first addresses given. */
export async function makePools(store: Store, sizes: ReadonlyMap<string, number>): Promise<void> {
  for (const range of sizes.keys()) {
    for (const pool of unwrap(poolsOf(networkOf(range)))) unwrap(await store.create(pool))
  }
  await operate(store)
  for (const [range, rows] of sizes) {
    const network = networkOf(range)
    await addOnBlocks(store, network, `first-of-${range}`)
    const [pool] = unwrap(poolsOf(network))
    const blocks = unwrap(await store.list(IPBlock.info)).items.map((object) => IPBlock.parse(object))
    const first = blocks.find(({ spec }) => spec.pool === pool?.metadata.name) as IPBlock
    await fill(store, first, rows)
  }
  await operate(store)
}

/** Adds rows of Pods until the pool has that number, in blocks like its first one. */
async function fill(store: Store, block: IPBlock, rows: number): Promise<void> {
  const { spec, metadata } = block
  const prefix = Prefix.parse(spec.cidr)
  const size = 2 ** (32 - prefix.length)
  const base = Prefix.first(prefix)
  const row = (number: number) => {
    const name = `pod-${number}`
    const uid = `3e6b5a6e-7d56-4c88-9a52-${number.toString(16).padStart(12, '0')}`
    return {
      owner: `default/${name}`,
      uid,
      container: name.padEnd(64, '0'),
      interface: 'net1',
      sequence: spec.sequence,
    }
  }
  const ofBlock = (nth: number, count: number, skipped: number) =>
    Object.fromEntries(
      Array.from({ length: Math.max(0, count - skipped) }, (_, unit) => [unit + skipped, row(nth * size + unit)]),
    )
  // the network address is not given, and the first row is there
  const { apiVersion, kind } = IPBlock.info
  const own = { apiVersion, kind, name: metadata.name }
  unwrap(await store.patch(own, { spec: { rows: ofBlock(0, Math.min(size, rows + 1), 2) } }))
  for (let nth = 1; nth * size <= rows; nth++) {
    const at = Address.add(base, nth * size)
    const hex = Address.toBigInt(at).toString(16).padStart(8, '0')
    const name = metadata.name.replace(/-4-[0-9a-f]{8}-/, `-4-${hex}-`)
    const given = ofBlock(nth, Math.min(size, rows + 1 - nth * size), 0)
    const body = { ...spec, cidr: Prefix.format(Prefix.of(at, prefix.length)), rows: given }
    const object = { apiVersion, kind, metadata: { name, finalizers: metadata.finalizers }, spec: body }
    unwrap(await store.create(object as unknown as KubeObject))
  }
}

async function operate(store: Store): Promise<void> {
  const { failures } = await runUntilQuiet(store, [blocksOperator()], { now: Date.now })
  if (failures.length > 0) throw new Error(JSON.stringify(failures))
}

/** How many rows a pool has, by the operator. */
export async function countOf(store: Store, range: string): Promise<number> {
  const [pool] = unwrap(poolsOf(networkOf(range)))
  const { apiVersion, kind } = IPPool.info
  const found = IPPool.parse(unwrap(await store.get({ apiVersion, kind, name: pool?.metadata.name ?? '' })))
  return Number(found.status?.ipv4?.allocated ?? 0)
}
