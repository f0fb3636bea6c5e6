import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { readServiceBitmap } from 'ipam-kit/provider/service-ip'
import { readRepeats } from './repeats.js'
import { type Attempt, ServicePool } from './service-pool.js'

type ServiceBitmap = Parameters<typeof readServiceBitmap>[0]

/** The pools that steps are about, and the names that they use. */
export interface Scene {
  readonly pools: Map<string, ServicePool>
  /** Ranges in the order in which the case has them: `second` is the one at 1. */
  readonly ranges: readonly Prefix[]
  /** Addresses by name: `R`, `alreadyAllocated`, `each outOfRange`. */
  readonly named: Map<string, readonly Address[]>
}

/** What a step has done to one pool, and how the pool was after it. */
export interface StepResult {
  readonly verb: string
  readonly pool: string
  readonly attempts: readonly Attempt[]
  readonly after: PoolState
}

export interface PoolState {
  readonly free: bigint
  readonly used: bigint
  readonly allocated: number
  readonly errors: number
  readonly inUse: readonly Address[]
}

export interface Run {
  readonly results: readonly StepResult[]
  /** Pools that count for the metrics: all but those that a step says `metrics off` of. */
  readonly measured: ReadonlySet<string>
  readonly snapshots: SnapshotResult
}

interface SnapshotResult {
  taken?: { readonly bitmap: ServiceBitmap; readonly inUse: readonly Address[]; readonly free: bigint }
  mismatch?: boolean
  restored?: ServicePool
}

/** A word of the case that is not known. */
export class UnknownWord extends Error {}

/** A step says what comes of it, and something else did. */
export class StepFailed extends Error {}

interface Context {
  readonly scene: Scene
  readonly pool: ServicePool
  readonly found: Readonly<{ [name: string]: string | undefined }>
  /** What the allocations before this step gave in this pool: those of the last step, and all. */
  readonly before: { readonly last: readonly Address[]; readonly all: readonly Address[] }
  readonly snapshots: SnapshotResult
}

type Apply = (context: Context) => readonly Attempt[]

const IP = '[0-9a-f:.]+'
const CIDR = '[0-9a-f:.]+/\\d+'
const WHICH = 'first|second|third|fourth'

const VERBS: readonly { readonly verb: string; readonly pattern: RegExp; readonly apply: Apply }[] = [
  { verb: 'allocateNext', pattern: /^allocateNext(?: x(?<count>\d+))?$/, apply: allocateNext },
  { verb: 'drain', pattern: /^drain(?: with allocateNext)?$/, apply: drain },
  { verb: 'allocate', pattern: /^allocate (?<what>the same \w+|each again)$/, apply: allocateAgain },
  {
    verb: 'allocate',
    pattern: new RegExp(`^allocate (?<what>${IP}(?: \\.\\. ${IP})?|[A-Za-z ]+|base[+]\\d+)(?: one by one)?$`),
    apply: ({ scene, pool, found }) => addressesOf(String(found.what), scene, pool).map((each) => pool.allocate(each)),
  },
  { verb: 'release', pattern: /^release (?<what>both|all|each)$/, apply: releaseGiven },
  {
    verb: 'release',
    pattern: new RegExp(`^release (?<what>${IP}(?: \\.\\. ${IP})?|[A-Za-z ]+|base[+]\\d+)(?: one by one)?$`),
    apply: ({ scene, pool, found }) => {
      for (const each of addressesOf(String(found.what), scene, pool)) pool.release(each)
      return []
    },
  },
  { verb: 'add', pattern: new RegExp(`^add (?:(?<which>${WHICH})|(?<cidr>${CIDR}))$`), apply: addRange },
  {
    verb: 'remove',
    pattern: new RegExp(`^(?:remove|delete) (?:(?<which>${WHICH})|(?<cidr>${CIDR}))$`),
    apply: removeRange,
  },
  { verb: 'find', pattern: new RegExp(`^find allocator for (?<what>${IP})$`), apply: findRange },
  { verb: 'snapshot', pattern: /^snapshot$/, apply: takeSnapshot },
  {
    verb: 'restore',
    pattern: new RegExp(`^(?:restore (?:as|into a fresh) (?<cidr>${CIDR})|new from snapshot)$`),
    apply: restore,
  },
]

/**
 * Does steps in order. A step is `[POOLS] [(metrics on|off)] WHAT [(NOTE)] [-> RESULT]`, where the
 * pools are names as `v4` or `v4 and v6`, and the note and the result say what has to come of it.
 */
export function runSteps(steps: readonly string[], scene: Scene): Run {
  const results: StepResult[] = []
  const unmeasured = new Set<string>()
  const snapshots: SnapshotResult = {}
  const verbOf = (rest: string) => VERBS.find(({ pattern }) => pattern.test(rest))
  for (const { text, times } of readRepeats(steps, (text) => verbOf(partsOf(text, scene).rest) !== undefined)) {
    const { names, metrics, rest, note, claim } = partsOf(text, scene)
    const known = verbOf(rest)
    if (known === undefined) throw new UnknownWord(`step: ${text}`)
    const found = known.pattern.exec(rest)?.groups ?? {}
    for (const name of names) {
      if (metrics === 'off') unmeasured.add(name)
      const pool = scene.pools.get(name) ?? poolLikeFirst(name, scene)
      const before = givenBefore(results, name)
      const attempts = Array.from({ length: times }, () =>
        known.apply({ scene, pool, found, before, snapshots }),
      ).flat()
      const after = stateOf(pool)
      results.push({ verb: known.verb, pool: name, attempts, after })
      checkNote(text, note, attempts, pool)
      checkClaim(text, claim, attempts, scene)
    }
  }
  return { results, measured: new Set([...scene.pools.keys()].filter((name) => !unmeasured.has(name))), snapshots }
}

function partsOf(text: string, scene: Scene) {
  const pattern =
    /^(?:(?<names>(?:v[46]|[A-Z])(?: and (?:v[46]|[A-Z]))*) )?(?:\(metrics (?<metrics>on|off)\) )?(?<rest>.*?)(?: \((?<note>[^)]*)\))?(?: -> (?<claim>\S+))?$/
  const { names, metrics, rest = '', note, claim } = pattern.exec(text)?.groups ?? {}
  return { names: names?.split(' and ') ?? [...scene.pools.keys()], metrics, rest, note, claim }
}

/**
 * A pool of another name on the same range. The first one named takes the place of the one without
 * a name.
 */
function poolLikeFirst(name: string, scene: Scene): ServicePool {
  const plain = scene.pools.get('')
  const [like] = scene.pools.values()
  if (like === undefined || /^v[46]$/.test(name)) throw new UnknownWord(`there is no pool ${name}`)
  scene.pools.delete('')
  const pool = plain ?? like.another()
  scene.pools.set(name, pool)
  return pool
}

export function stateOf(pool: ServicePool): PoolState {
  return {
    free: pool.free,
    used: pool.used,
    allocated: pool.count({ isError: false }),
    errors: pool.count({ isError: true }),
    inUse: pool.inUse,
  }
}

export function givenIn(attempts: readonly Attempt[]): Address[] {
  return attempts.filter((attempt) => typeof attempt !== 'string')
}

function givenBefore(results: readonly StepResult[], pool: string): Context['before'] {
  const own = results.filter((result) => result.pool === pool).map(({ attempts }) => givenIn(attempts))
  return { last: own.findLast((given) => given.length > 0) ?? [], all: own.flat() }
}

function allocateNext({ pool, found }: Context): Attempt[] {
  return Array.from({ length: Number(found.count ?? 1) }, () => pool.allocateNext())
}

function drain({ pool }: Context): Attempt[] {
  const { given, end } = pool.drain()
  return [...given, end]
}

function allocateAgain({ pool, found, before }: Context): Attempt[] {
  return (found.what === 'each again' ? before.all : before.last).map((address) => pool.allocate(address))
}

function releaseGiven({ pool, found, before }: Context): Attempt[] {
  for (const address of found.what === 'both' ? before.last : pool.inUse) pool.release(address)
  return []
}

/**
 * The addresses that words stand for: one, all from one to another, `base+1`, or what the case has
 * under a name.
 */
export function addressesOf(words: string, { named }: Scene, { prefixes }: ServicePool): readonly Address[] {
  const known = named.get(words.replace(/^each /, ''))
  if (known !== undefined) return known
  const base = /^base(?:[+](\d+))?$/.exec(words)
  if (base !== null && prefixes[0] !== undefined) return [Address.add(Prefix.first(prefixes[0]), Number(base[1] ?? 0))]
  const [first, last = first] = words.split(' .. ').map((text) => Address.safeParse(text))
  if (first?.ok !== true || last?.ok !== true) throw new UnknownWord(`addresses: ${words}`)
  return [...RangeSet.addresses(RangeSet.fromRanges([{ first: first.value, last: last.value }]))]
}

const ORDINALS = WHICH.split('|')

function rangeOf({ scene, found }: Context): Prefix {
  const prefix = found.cidr === undefined ? scene.ranges[ORDINALS.indexOf(found.which ?? '')] : Prefix.parse(found.cidr)
  if (prefix === undefined) throw new UnknownWord(`there is no ${found.which} range`)
  return prefix
}

function addRange(context: Context): Attempt[] {
  context.pool.prefixes = [...context.pool.prefixes, rangeOf(context)]
  return []
}

function removeRange(context: Context): Attempt[] {
  const removed = rangeOf(context)
  context.pool.prefixes = context.pool.prefixes.filter((prefix) => !Prefix.equals(prefix, Prefix.masked(removed)))
  return []
}

function findRange({ pool, found }: Context): Attempt[] {
  const address = Address.parse(String(found.what))
  return [pool.contains(address) ? address : 'ErrNotInRange']
}

function takeSnapshot({ pool, snapshots }: Context): Attempt[] {
  const [range] = pool.prefixes
  if (range === undefined) throw new UnknownWord('a snapshot of no range')
  const { inUse, free } = pool
  snapshots.taken = { bitmap: bitmapOf(range, inUse), inUse, free }
  return []
}

/**
 * What upstream's bitmap keeps: a number with one bit for each address, without the first one of
 * the range.
 */
function bitmapOf(range: Prefix, inUse: readonly Address[]): ServiceBitmap {
  const first = Prefix.first(range)
  const bits = inUse.map((address) => Number(Address.distance(first, address)) - 1)
  const data = new Uint8Array(Math.ceil((Math.max(-1, ...bits) + 1) / 8))
  for (const bit of bits) data[data.length - 1 - (bit >>> 3)]! |= 1 << (bit & 7)
  return { range: Prefix.format(range), data }
}

/** A new pool from a snapshot: what is in use is read back. One of another network is refused. */
function restore({ found, snapshots }: Context): Attempt[] {
  if (snapshots.taken === undefined) throw new UnknownWord('there is no snapshot')
  const { bitmap } = snapshots.taken
  const prefix = Prefix.parse(found.cidr ?? bitmap.range)
  const read = readServiceBitmap(bitmap)
  if (read.kind !== 'read') return []
  if (!Prefix.equals(read.prefix, Prefix.masked(prefix))) {
    snapshots.mismatch = true
    return []
  }
  snapshots.restored = new ServicePool([prefix], { of: 'one' })
  snapshots.restored.restore(RangeSet.addresses(read.inUse))
  return []
}

function checkNote(text: string, note: string | undefined, attempts: readonly Attempt[], pool: ServicePool): void {
  for (const words of note?.split(', ') ?? []) {
    const is = noteHolds(words, attempts, pool)
    if (is === undefined) throw new UnknownWord(`note: ${words}`)
    if (!is) throw new StepFailed(`${text}: not ${words}`)
  }
}

function noteHolds(words: string, attempts: readonly Attempt[], pool: ServicePool): boolean | undefined {
  const given = givenIn(attempts)
  const free = /^free (\d+)$/.exec(words)?.[1]
  if (free !== undefined) return pool.free === BigInt(free)
  const fails = /^fails (?:(once|twice)|(\d+) times)$/.exec(words)
  if (fails !== null) {
    const count = fails[1] === undefined ? Number(fails[2]) : fails[1] === 'once' ? 1 : 2
    return attempts.length - given.length === count
  }
  if (words === 'all distinct') return new Set(given.map(Address.format)).size === given.length
  if (words === 'all inside') {
    return given.every((address) => pool.prefixes.some((prefix) => Prefix.contains(prefix, address)))
  }
  return undefined
}

/** Every attempt of the step gave this error, or the address of this name. */
function checkClaim(text: string, claim: string | undefined, attempts: readonly Attempt[], { named }: Scene): void {
  if (claim === undefined) return
  const [address] = named.get(claim) ?? []
  if (address === undefined && !claim.startsWith('Err')) throw new UnknownWord(`result: ${claim}`)
  const expected = address === undefined ? claim : Address.format(address)
  const got = attempts.map((attempt) => (typeof attempt === 'string' ? attempt : Address.format(attempt)))
  if (got.length === 0 || got.some((each) => each !== expected)) throw new StepFailed(`${text}: ${got.join(', ')}`)
}
