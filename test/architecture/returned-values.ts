import {
  AddressPool,
  Bitmap,
  Ledger,
  type LedgerEntry,
  PrefixAllocator,
  PrefixTree,
  RangeTree,
} from 'ipam-kit/allocator'
import { Address, Prefix, PrefixMap, RangeSet } from 'ipam-kit/cidr'
import { IPAddress } from 'ipam-kit/crd/cluster-api'
import { Node } from 'ipam-kit/crd/core'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { Absences, Calls, ObjectCache, type Watch } from 'ipam-kit/plan'
import { PoolLedger } from 'ipam-kit/provider/in-cluster'
import { ControllerMetrics, Histogram } from 'ipam-kit/render'
import { Backoff } from 'ipam-kit/run'
import { Dice } from 'ipam-kit/testing'

/** An instance with something in it, and a call of each of its members. */
export interface Specimen {
  /** A new one, of new values: it shares nothing with another one. */
  readonly make: () => object
  /** By member: what is called with the instance. A getter is only named. */
  readonly calls: Readonly<Record<string, (it: never) => unknown>>
}

type Call<T> = (it: T) => unknown

function specimen<T extends object>(make: () => T, calls: Readonly<Record<string, Call<T>>>): Specimen {
  return { make, calls }
}

const at = (text: string) => Address.parse(text)
const net = (text: string) => Prefix.parse(text)
const set = (...texts: readonly string[]) => RangeSet.parse(texts)
const owner = (uid: string) => ({ uid, name: `web-${uid}` })
const entry = (text: string, reason: LedgerEntry['reason'], key: string, untilMs?: number): LedgerEntry => ({
  prefix: net(text),
  reason,
  holder: { key },
  untilMs,
})

const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'pool' }
const ipAddress = (name: string, address: string) =>
  IPAddress.parse({
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddress',
    metadata: { name, namespace: 'a', uid: `uid-${name}` },
    spec: { claimRef: { name }, poolRef, address, prefix: 24 },
  })
const inClusterPool = () =>
  InClusterIPPool.parse({
    ...{ apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind: 'InClusterIPPool' },
    metadata: { name: 'pool', namespace: 'a', uid: 'uid-pool' },
    spec: { addresses: ['10.0.0.0/28'], prefix: 24, gateway: '10.0.0.1' },
  })
const node = (name: string, ...podCIDRs: readonly string[]) =>
  Node.parse({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid: name },
    spec: { podCIDR: podCIDRs[0], podCIDRs },
  })

function frozen<T>(value: T): T {
  for (const inner of Object.values(value as object)) if (typeof inner === 'object' && inner !== null) frozen(inner)
  return Object.freeze(value)
}

/** What a watch makes of an object is its own. */
const nodes: Watch<KubeObject> = {
  ...Node.info,
  parse: (value) => ({ ok: true, value }),
  indexes: { name: ({ metadata }) => [metadata.name] },
}
/** As a store gives an object. The cache and its planners share it: a store that is not frozen is read only by type. */
const present = (object: Node) => ({ kind: 'present', object: frozen(object) }) as const

function addressPool(): AddressPool {
  const pool = new AddressPool({
    ranges: ['10.0.0.0/28', 'fd00::/124'],
    preallocated: [['db', at('10.0.0.9')]],
    strategy: { kind: 'least-recently-released' },
    holdSeconds: 60,
  })
  pool.allocate({ owner: owner('a'), stickyKey: 'a' }, { nowMs: 0 })
  pool.allocate({ owner: owner('b'), want: { kind: 'dualStack' } }, { nowMs: 0 })
  pool.occupy(at('10.0.0.12'), owner('c'))
  pool.occupy(at('10.0.0.12'), owner('d'))
  pool.occupy(at('10.9.0.1'), owner('e'))
  pool.occupy(at('10.0.0.13'), owner('f'), { stickyKey: 'f' })
  pool.release(at('10.0.0.13'), owner('f'), { nowMs: 1 })
  return pool
}

function prefixAllocator(): PrefixAllocator {
  const allocator = new PrefixAllocator({ ranges: ['fd00::/56'], childLength: 64 })
  allocator.allocate({ owner: owner('a') })
  allocator.occupy(net('fd00:0:0:2::/63'), owner('b'))
  allocator.occupy(net('fd00:0:0:2::/64'), owner('c'))
  allocator.occupy(net('fd01::/64'), owner('d'))
  return allocator
}

function ledger(): Ledger {
  const made = new Ledger({ space: set('10.0.0.0/28', 'fd00::/124') })
  made.set('held', entry('10.0.0.2/32', 'held', 'a'))
  made.set('wide', entry('10.0.0.0/30', 'held', 'b'))
  made.set('six', entry('fd00::3/128', 'held', 'c'))
  made.set('kept', entry('10.0.0.5/32', 'kept', 'd'))
  made.set('former', entry('10.0.0.6/32', 'former', 'e'))
  made.set('cooling', entry('10.0.0.7/32', 'cooldown', 'f', 10))
  made.set('foreign', entry('10.0.0.8/32', 'foreign', 'g'))
  return made
}

function poolLedger(): PoolLedger {
  const held = [ipAddress('a', '10.0.0.4'), ipAddress('b', '10.0.0.4'), ipAddress('c', '10.0.0.6')]
  const made = PoolLedger.build(inClusterPool(), held)
  made.setPool(inClusterPool(), ['a problem'])
  made.keep(new Map([['a/d', '10.0.0.9']]))
  return made
}

function objectCache(): ObjectCache {
  const cache = new ObjectCache()
  cache.open(nodes)
  for (const name of ['a', 'b']) cache.apply(present(node(name, '10.0.1.0/24')))
  return cache
}

const range = { first: 3, last: 9 }
function slots<T extends Bitmap | RangeTree>(make: (size: number) => T): Specimen {
  const full = () => {
    const made = make(64)
    made.takeRange(range.first, range.last)
    return made
  }
  return specimen<Bitmap | RangeTree>(full, {
    size: (it) => it.size,
    used: (it) => it.used,
    has: (it) => it.has(3),
    take: (it) => it.take(20),
    release: (it) => it.release(4),
    takeRange: (it) => it.takeRange(30, 31),
    releaseRange: (it) => it.releaseRange(5, 6),
    nextFree: (it) => it.nextFree(0),
    nextFreeAround: (it) => it.nextFreeAround(0),
    nextUsed: (it) => it.nextUsed(0),
    nextFreeRun: (it) => it.nextFreeRun(2),
    countUsed: (it) => it.countUsed(0, 63),
    freeAt: (it) => it.freeAt(0),
    freeRanges: (it) => [...it.freeRanges()],
    usedRanges: (it) => [...it.usedRanges()],
    fork: (it) => it.fork(),
    toWords: (it) => ('toWords' in it ? it.toWords() : undefined),
  })
}

const CALL = frozen({
  operation: 'allocate',
  key: 'k',
  about: { apiVersion: 'v1', kind: 'Node', name: 'a' },
  input: null,
})

/** A table with one call that has a result, and is in flight again. */
function callTable(): Calls {
  const calls = new Calls()
  for (let turn = 0; turn < 2; turn++) {
    calls.begin({ call: CALL })
    calls.sent(CALL, turn)
    if (turn === 0) calls.answered({ call: CALL, answer: frozen({ ok: true, value: 'a' }), atMs: 1 })
  }
  return calls
}

/** Exported classes that hold something. The others are in {@link WITHOUT_STATE}, with a reason. */
export const specimens: Readonly<Record<string, Specimen>> = {
  Absences: specimen(() => new Absences(30), { look: (it) => it.look('a', ['b'], 0) }),
  AddressPool: specimen(addressPool, {
    available: (it) => it.available,
    allocate: (it) => it.allocate({ owner: owner('x'), stickyKey: 'x', want: { kind: 'dualStack' } }, { nowMs: 2 }),
    lowestFree: (it) => it.lowestFree(),
    occupy: (it) => it.occupy(at('10.0.0.12'), owner('y')),
    release: (it) => it.release(at('10.0.0.12'), owner('c'), { nowMs: 2 }),
    releaseOwner: (it) => it.releaseOwner('b', { nowMs: 2 }),
    undo: (it) => it.undo(it.releaseOwner('e', { nowMs: 2 })),
    resize: (it) => it.resize({ ranges: ['10.0.0.0/28'], strategy: { kind: 'least-recently-released' } }),
    hasAddress: (it) => it.hasAddress(at('10.0.0.3')),
    ownersOf: (it) => it.ownersOf(at('10.0.0.12')),
    holdsOf: (it) => it.holdsOf(at('10.0.0.12')),
    addressesOf: (it) => it.addressesOf('b'),
    entries: (it) => it.entries(),
    inUse: (it) => it.inUse(),
    inCooldown: (it) => it.inCooldown(),
    counts: (it) => it.counts(),
  }),
  Backoff: specimen(() => new Backoff(), {
    size: (it) => it.size,
    has: (it) => it.has('a'),
    failed: (it) => it.failed('a'),
    succeeded: (it) => it.succeeded('a'),
  }),
  Bitmap: slots((size) => new Bitmap(size)),
  Calls: specimen(callTable, {
    inFlight: (it) => it.inFlight,
    of: (it) => it.of('Node a'),
    inGroup: (it) => it.inGroup('Node a'),
    get: (it) => it.get('Node a', 'allocate', 'k'),
    begin: (it) => it.begin({ call: CALL }),
    sent: (it) => it.sent(CALL, 3),
    answered: (it) => it.answered({ call: CALL, answer: frozen({ ok: true, value: 'b' }), atMs: 4 }),
    drop: (it) => it.drop('Node a', 'failures'),
    clear: (it) => it.clear(),
  }),
  ControllerMetrics: specimen(() => new ControllerMetrics(), {
    metrics: (it) => it.metrics(),
    onResult: () => undefined,
    onProblem: () => undefined,
  }),
  Dice: specimen(() => new Dice(1), {
    next: (it) => it.next(),
    below: (it) => it.below(6),
    chance: (it) => it.chance(0.5),
    pick: (it) => it.pick([1, 2, 3]),
  }),
  Histogram: specimen(() => new Histogram([1, 2]), {
    observe: (it) => it.observe(1),
    sample: (it) => it.sample({ a: 'b' }),
  }),
  Ledger: specimen(ledger, {
    space: (it) => it.space,
    setSpace: (it) => it.setSpace({ space: set('10.0.0.0/29') }),
    get: (it) => ['held', 'six', 'kept', 'former', 'cooling'].map((id) => it.get(id)),
    set: (it) => it.set('more', entry('10.0.0.10/32', 'held', 'z')),
    delete: (it) => it.delete('foreign'),
    expire: (it) => it.expire(10),
    nextExpiryMs: (it) => it.nextExpiryMs(),
    entries: (it) => it.entries(),
    holders: (it) => it.holders(net('10.0.0.0/28')),
    overlapping: (it) => [...it.overlapping(net('10.0.0.0/28'))],
    blockers: (it) => it.blockers(net('10.0.0.0/28')),
    conflicts: (it) => it.conflicts(),
    next: (it) => it.next({ for: 'd' }),
    counts: (it) => it.counts(),
    usage: (it) => it.usage(),
  }),
  ObjectCache: specimen(objectCache, {
    clock: (it) => it.clock,
    open: (it) => {
      const cached = it.open(nodes)
      return [[...cached], cached.get('a'), cached.entry('a'), cached.by('name', 'a'), cached.unreadable()]
    },
    apply: (it) => it.apply(present(node('a', '10.0.2.0/24'))).deltaFor(nodes),
    announce: () => undefined,
    changesOf: (it) => it.changesOf(Node.info, { items: [frozen(node('a', '10.0.1.0/24'))], resourceVersion: '9' }, 99),
    compare: (it) => [
      ...it.compare(Node.info, { items: [frozen(node('c', '10.0.1.0/24'))], resourceVersion: '9' }, 99),
    ],
    keep: (it) => it.keep(Node.info, node('a', '10.0.1.0/24')),
    isEmpty: (it) => it.isEmpty,
    complete: (it) => it.complete(Node.info, '9'),
    clear: (it) => it.clear(),
    selectionKey: (it) => it.selectionKey(Node.info),
  }),
  PoolLedger: specimen(poolLedger, {
    setPool: (it) => it.setPool(inClusterPool()),
    keep: (it) => it.keep(new Map()),
    keptFor: (it) => it.keptFor('a/d'),
    extentOf: (it) => it.extentOf(ipAddress('a', '10.0.0.4')),
    available: (it) => it.available,
    next: (it) => it.next(),
    answerTo: (it) => it.answerTo('10.0.0.7', 'a/a'),
    counts: (it) => it.counts(),
    duplicates: (it) => it.duplicates(),
    problems: (it) => it.problems,
    unusable: (it) => it.unusable,
    size: (it) => it.size,
    serves: (it) => it.serves(inClusterPool()),
    // what it was made from: it is a view of that, not a copy
    holdings: () => undefined,
    othersHolding: (it) => it.othersHolding(ipAddress('a', '10.0.0.4')),
  }),
  PrefixAllocator: specimen(prefixAllocator, {
    family: (it) => it.family,
    childLength: (it) => it.childLength,
    total: (it) => it.total,
    counts: (it) => it.counts(),
    free: (it) => it.free(),
    allocate: (it) => it.allocate({ owner: owner('x') }),
    next: (it) => it.next(),
    lowestFree: (it) => it.lowestFree(),
    isAllocatable: (it) => it.isAllocatable(net('fd00::/64')),
    resize: (it) => it.resize({ ranges: ['fd00::/57'], childLength: 64 }),
    occupy: (it) => it.occupy(net('fd00:0:0:3::/64'), owner('y')),
    release: (it) => it.release(net('fd00:0:0:2::/64'), owner('c')),
    releaseOwner: (it) => it.releaseOwner('b'),
    undo: (it) => it.undo(it.releaseOwner('d')),
    ownersOf: (it) => it.ownersOf(net('fd00:0:0:2::/63')),
    holdsOf: (it) => it.holdsOf(net('fd00:0:0:2::/63')),
    prefixesOf: (it) => it.prefixesOf('b'),
    overlapping: (it) => it.overlapping(net('fd00:0:0:2::/62')),
    entries: (it) => it.entries(),
    freePrefixes: (it) => it.freePrefixes(),
  }),
  PrefixMap: specimen(
    () =>
      new PrefixMap([
        [net('10.0.0.0/8'), 1],
        [net('10.1.0.0/16'), 2],
        [net('fd00::/8'), 3],
      ]),
    {
      size: (it) => it.size,
      set: (it) => it.set(net('10.2.0.0/16'), 3).size,
      get: (it) => it.get(net('10.0.0.0/8')),
      has: (it) => it.has(net('10.0.0.0/8')),
      delete: (it) => it.delete(net('10.2.0.0/16')),
      longestMatch: (it) => it.longestMatch(at('10.1.0.1')),
      lookup: (it) => it.lookup(at('10.1.0.1')),
      covering: (it) => it.covering(at('10.1.0.1')),
      coveredBy: (it) => it.coveredBy(net('10.0.0.0/8')),
      entries: (it) => [...it.entries()],
      keys: (it) => [...it.keys()],
      values: (it) => [...it.values()],
      clear: (it) => it.clear(),
    },
  ),
  PrefixTree: specimen(
    () => {
      const tree = new PrefixTree(set('10.0.0.0/24'))
      tree.occupy(net('10.0.0.8/29'))
      return tree
    },
    {
      family: (it) => it.family,
      bits: (it) => it.bits,
      isFree: (it) => it.isFree(net('10.0.0.0/29')),
      take: (it) => it.take(net('10.0.0.16/29')),
      occupy: (it) => it.occupy(net('10.0.0.24/29')),
      release: (it) => it.release(net('10.0.0.24/29')),
      nextFree: (it) => it.nextFree(30),
      nextFreeAround: (it) => it.nextFreeAround(30, at('10.0.0.9')),
      countFree: (it) => it.countFree(30),
      freePrefixes: (it) => it.freePrefixes(),
    },
  ),
  RangeTree: slots((size) => new RangeTree(size)),
}

/**
 * Changes everything of a value that can be changed: fields, items, members of maps and sets. What
 * is frozen stays. Typed arrays stay as well: no engine can freeze one, so the ranges of a RangeSet
 * are the one inside that a returned value shares.
 */
export function spoil(value: unknown, seen = new Set<object>()): void {
  if (typeof value !== 'object' || value === null || seen.has(value) || ArrayBuffer.isView(value)) return
  seen.add(value)
  if (value instanceof Map || value instanceof Set) {
    for (const each of [...value].flat()) spoil(each, seen)
    value.clear()
    return
  }
  for (const key of Reflect.ownKeys(value)) {
    const descriptor = Reflect.getOwnPropertyDescriptor(value, key)!
    spoil(descriptor.value, seen)
    if (typeof descriptor.value !== 'function') Reflect.set(value, key, otherThan(descriptor.value))
  }
  Reflect.set(value, 'added', true)
}

function otherThan(value: unknown): unknown {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'bigint') return value + 1n
  if (typeof value === 'string') return `${value}1`
  if (typeof value === 'boolean') return !value
  return undefined
}

/** Exported classes that give nothing of their inside away, and why. */
export const WITHOUT_STATE: Readonly<Record<string, string>> = {
  AddressLedger: 'a base class: its methods are those of PoolLedger',
  Controller: 'it answers numbers, and lists that are made for the answer',
  EventRecorder: 'its method returns nothing',
  FakeCloud: 'a server for tests: what it answers are objects of the cloud',
  FakeCloudWorld: 'a server for tests: what it answers are objects of the cloud',
  IpamError: 'an error',
  KnownBlocks: 'programs pass it to tasks, and call none of its methods that read',
  LeaderElection: 'its methods begin and end a run',
  ProblemLog: 'its methods return nothing',
  SimulatedCrash: 'an error',
  UnsettledError: 'an error',
}
