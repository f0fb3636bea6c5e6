#!/usr/bin/env node
// What can be asked for, and what is answered: tsx docs/examples/blocks/requests.ts
import { Address, Prefix } from 'ipam-kit/cidr'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import { allocate, blocksOperator, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { runTask, runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'

let nowMs = Date.UTC(2026, 0, 1)
const now = () => nowMs
const store = memoryStore({ now, kinds: [IPDomain, IPPool, IPBlock].map(({ info }) => info) })

const pools = {
  web: {
    subnets: [
      { cidr: '10.1.0.0/24', gateway: '10.1.0.1', reserved: ['10.1.0.9'] },
      { cidr: 'fd00:1::/64', ranges: ['fd00:1::10-fd00:1::11'] },
    ],
  },
  desks: {
    subnets: [{ cidr: '10.2.0.0/29' }],
    sticky: { by: 'mac', forSeconds: 3600 },
    reuseAfterSeconds: 60,
  },
  sites: {
    domain: 'delegation',
    subnets: [{ cidr: 'fd00:2::/48' }],
    ipv6: { blockPrefixLength: 56, allocationPrefixLength: 64 },
  },
  dmz: { subnets: [{ cidr: '10.3.0.0/24' }], nodeSelector: { matchLabels: { zone: 'dmz' } } },
  old: { subnets: [{ cidr: '10.4.0.0/24' }], disabled: true },
}
for (const [name, spec] of Object.entries(pools)) {
  unwrap(await store.create({ apiVersion: IPPool.info.apiVersion, kind: 'IPPool', metadata: { name }, spec }))
}
await runUntilQuiet(store, [blocksOperator()], { now })

const known = new KnownBlocks()
async function ask(title: string, request: Omit<Parameters<typeof allocate>[0], 'owner'>, pod = title): Promise<void> {
  const uid = pod.replaceAll(' ', '-')
  const owner = { uid, name: `default/${uid}` }
  const ended = await runTask(allocate({ owner, ...request }, known), store, { now })
  if (ended.kind !== 'done') throw new Error(ended.failure.message)
  const { outcome } = ended
  const given = 'allocations' in outcome ? outcome.allocations : []
  const texts = given.map(({ prefix, count, address }) =>
    Prefix.size(prefix) > 1n || count === 1 ? Prefix.format(prefix) : `${count} from ${Address.format(address)}`,
  )
  console.log(`${title}: ${outcome.kind}, ${given.length === 0 ? outcome.message : texts.join(' and ')}`)
}

// one of each family, or nothing
await ask('dual stack', { pools: ['web'], families: [4, 6] })
await ask('dual stack again', { pools: ['web'], families: [4, 6] }, 'dual stack')
await ask('dual stack 2', { pools: ['web'], families: [4, 6] })
await ask('dual stack 3', { pools: ['web'], families: [4, 6] })
// this one and no other, also one that is reserved
await ask('printer', { pools: ['web'], families: [4], addresses: [Address.parse('10.1.0.9')] })
await ask('another printer', { pools: ['web'], families: [4], addresses: [Address.parse('10.1.0.9')] })
await ask('the gateway', { pools: ['web'], families: [4], addresses: [Address.parse('10.1.0.1')] })
// several in a row, in one block
await ask('proxies', { pools: ['web'], families: [4], count: 8 })
// prefixes, from one unit to a whole block
await ask('lab', { pools: ['sites'], families: [6] })
await ask('branch', { pools: ['sites'], families: [6], prefixLengths: { ipv6: 60 } })
// the pools are asked in this order
await ask('guest', { pools: ['old', 'dmz', 'desks'], families: [4], node: { name: 'n1', labels: { zone: 'lan' } } })
await ask('proxy', { pools: ['dmz'], families: [4], node: { name: 'n2', labels: { zone: 'dmz' } } })
await ask('nowhere', { pools: ['old'], families: [4] })
// who comes again with its MAC within the hour has what it had
const desk = { pools: ['desks'], families: [4] as const, mac: '02:00:00:00:00:0a' }
await ask('desk', desk)
unwrap(await runTask(release({ owner: { uid: 'desk' }, pools: ['desks'] }, known), store, { now }))
nowMs += 1_800_000
await ask('desk once more', desk)
