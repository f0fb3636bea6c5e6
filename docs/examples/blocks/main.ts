#!/usr/bin/env node
// Three agents at once on two pools that overlap: tsx docs/examples/blocks/main.ts
import { Address } from 'ipam-kit/cidr'
import { IPBlock, IPDomain, IPHandle, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import { type Allocation, blocksOperator, KnownBlocks } from 'ipam-kit/provider/blocks'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { add, del } from './agent.js'

const now = () => Date.UTC(2026, 0, 1)
const store = memoryStore({ now, kinds: [IPDomain, IPPool, IPBlock, IPHandle].map(({ info }) => info) })

// both are of the domain `default`, and have 10.0.0.16 to 10.0.0.23 in common
const pools = { blue: '10.0.0.0-10.0.0.23', red: '10.0.0.16-10.0.0.39' }
for (const [name, range] of Object.entries(pools)) {
  const subnets = [{ cidr: '10.0.0.0/26', ranges: [range], gateway: '10.0.0.1' }]
  const spec = { subnets, ipv4: { blockPrefixLength: 28 } }
  unwrap(await store.create({ apiVersion: IPPool.info.apiVersion, kind: 'IPPool', metadata: { name }, spec }))
}
// until the operator has taken them into their domain they give nothing
await runUntilQuiet(store, [blocksOperator()], { now })

/**
 * One agent: it keeps what it has learned of pools and blocks, and gives six Pods an address, one
 * after the other.
 */
async function agent(node: string, pool: string): Promise<string> {
  const known = new KnownBlocks()
  let requests = 0
  const options = { now, known, pools: [pool], show: () => requests++ }
  const given: string[] = []
  for (let n = 1; n <= 6; n++) {
    const uid = `${node}-${n}`
    const pod = { uid, pod: `default/${uid}`, interface: 'eth0', container: `c-${uid}`, node }
    const outcome = await add(store, pod, options)
    given.push(outcome.kind === 'allocated' ? textOf(outcome.allocations[0]) : outcome.kind)
  }
  return `${node}, ${pool}: ${given.join(' ')} (${requests} answers of the store)`
}

const textOf = (allocation: Allocation | undefined) => (allocation ? Address.format(allocation.address) : 'none')

const lines = await Promise.all([agent('node-1', 'blue'), agent('node-2', 'blue'), agent('node-3', 'red')])
for (const line of lines) console.log(line)

const gone = { uid: 'node-2-1', interface: 'eth0' }
console.log((await del(store, gone, { now, known: new KnownBlocks(), pools: ['blue'] })).message)

await runUntilQuiet(store, [blocksOperator()], { now })
for (const object of unwrap(await store.list(IPBlock.info)).items) {
  const { metadata, spec } = IPBlock.parse(object)
  console.log(`${metadata.name}, made for ${spec.pool}:`)
  for (const [unit, { owner, pool = spec.pool }] of Object.entries(spec.rows)) {
    console.log(`  ${unit.padStart(2)}  ${owner} of ${pool}`)
  }
}
for (const object of unwrap(await store.list(IPPool.info)).items) {
  const { metadata, status } = IPPool.parse(object)
  console.log(`${metadata.name}: ${status?.ipv4?.allocated} given, ${status?.ipv4?.free} free`)
}
