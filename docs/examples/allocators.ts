// Which address next? docs/guides/allocators.md shows this file, and what it prints.
import {
  AddressPool,
  explainRefusal,
  Ledger,
  type LedgerEntry,
  PrefixAllocator,
  rebuildPool,
  type Strategy,
} from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { asciiMap } from 'ipam-kit/render'

// A pool of a prefix, without its network and broadcast address. Owners differ by their uid.
const ranges = ['10.20.0.0/27']
const pool = new AddressPool({ ranges, gateway: '10.20.0.1' })
const first = pool.allocate({ owner: { uid: 'uid-1', key: 'default/web-0' } })
if (first.kind === 'allocated') console.log(Address.format(first.address), first.delta.holds[0]?.sequence)
console.log(pool.allocate({ owner: { uid: 'uid-1' } }).kind)

// A refusal is an outcome and not an exception. explainRefusal makes a sentence of it.
const wanted = pool.allocate({
  owner: { uid: 'uid-2' },
  want: { kind: 'address', address: Address.parse('10.20.0.2') },
})
console.log(explainRefusal(wanted))

// Every change has a delta: for storing it, and for taking it back.
if (first.kind === 'allocated') console.log(pool.undo(first.delta), pool.counts().free)

// Half of a pool is allocated, every third address is released, and six later owners allocate.
const strategies: Strategy[] = [
  { kind: 'lowest' },
  { kind: 'next-fit' },
  { kind: 'least-recently-released' },
  { kind: 'random', seed: 42 },
  { kind: 'hashed' },
]
for (const strategy of strategies) {
  const tried = new AddressPool({ ranges, strategy })
  for (let i = 0; i < 15; i++) tried.allocate({ owner: { uid: `early-${i}` } })
  for (let i = 0; i < 15; i += 3) tried.releaseOwner(`early-${i}`)
  for (let i = 0; i < 6; i++) tried.allocate({ owner: { uid: `late-${i}` } })
  const inUse = RangeSet.fromAddresses(tried.entries().map((entry) => entry.address))
  console.log(strategy.kind)
  for (const line of asciiMap({ addresses: RangeSet.parse(ranges), available: tried.available, inUse }))
    console.log(line)
}

// For 60 s no owner gets a released address; until 600 s only its key gets it.
const sticky = new AddressPool({ ranges, cooldownSeconds: 60, holdSeconds: 600 })
const pod = (uid: string) => ({ owner: { uid }, stickyKey: 'default/web-0' })
sticky.allocate({ owner: { uid: 'other' } }, { nowMs: 0 })
sticky.allocate(pod('before'), { nowMs: 0 })
sticky.releaseOwner('before', { nowMs: 1000 })
console.log(sticky.counts().cooldown, sticky.allocate(pod('after'), { nowMs: 300_000 }).kind)

// After a restart: a pool from its bytes, or a new one from the objects that exist.
const stored = AddressPool.encode(sticky)
console.log(AddressPool.decode(stored).counts().used)
const { pool: rebuilt, findings } = rebuildPool({ ranges }, [
  { address: Address.parse('10.20.0.5'), owner: { uid: 'uid-5' } },
  { address: Address.parse('10.20.0.5'), owner: { uid: 'uid-6' } },
])
console.log(rebuilt.counts().used, findings[0]?.kind)

// Prefixes of many lengths from one space.
const delegation = new PrefixAllocator({ ranges: ['fd00:20::/44'], childLength: 64 })
for (const [uid, length] of [
  ['site-a', 48],
  ['lab', 64],
  ['site-b', 48],
] as const) {
  const outcome = delegation.allocate({ owner: { uid }, length })
  if (outcome.kind === 'allocated') console.log(uid, Prefix.format(outcome.prefix))
}
console.log(delegation.free(48), delegation.free(64))

// Holders and reasons: a ledger records observed extents, and offers free units.
const ledger = new Ledger({ space: RangeSet.parse(['10.20.1.0/30']) })
const record = (id: string, text: string, reason: LedgerEntry['reason']) =>
  ledger.set(id, { prefix: Prefix.parse(text), reason, holder: { key: id } })
record('web-0', '10.20.1.0/32', 'held')
record('web-1', '10.20.1.1/32', 'pending')
record('db-0', '10.20.1.2/32', 'kept')
record('lab', '10.20.0.0/16', 'former')
for (const key of ['db-0', 'web-2']) {
  const next = ledger.next({ for: key })
  console.log(key, next && Prefix.format(next))
}
for (const { prefix, reason, holder } of ledger.entries()) console.log(Prefix.format(prefix), reason, holder.key)
const { total, free, outOfRange } = ledger.counts()
console.log(total, free, outOfRange)
