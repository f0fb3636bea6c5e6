import { Address, RangeSet } from 'ipam-kit/cidr'
import { type Case, type Difference, type Leaf, type Objects, type Rule, statesOf } from '../differences.js'

const CAP = 2n ** 63n - 1n
/** The largest count that a status has here. */
const OUR_CAP = Number(2n ** 63n - 1024n)

/**
 * Where the example differs from what was recorded of the Go provider, by the headings of
 * docs/reference/deviations.md. Each rule holds for what its text there says.
 */
export const rules: readonly Rule[] = [
  {
    heading: 'Counts end below 2^63',
    holds: ({ path, theirs, ours }) =>
      /\.status\.ipAddresses\.(total|free)$/.test(path) && isCapped(theirs) && Number(ours) === OUR_CAP,
  },
  {
    heading: 'free-never-negative',
    holds: ({ path, ours, own }) => {
      const { kind, name } = partsOf(path)
      if (!/IPPool\/.*\.status\.ipAddresses\.free$/.test(path) || !(Number(ours) >= 0)) return false
      // in a case that is compared as sets no pool is named
      return poolsIn(own.final).some(
        (pool) =>
          pool.kind === kind &&
          (name === '*' || pool.metadata.name === name) &&
          freeIn(pool, own.final) === Number(ours),
      )
    },
  },
  {
    heading: 'An address of another claim is never changed',
    holds: (difference) => isServing(difference) && leavesForeign(difference.own),
  },
  {
    heading: 'Nothing is allocated from a pool that is being deleted',
    holds: (difference) => (isServing(difference) || isOfPool(difference)) && givesWhileEnding(difference.recorded),
  },
  {
    heading: 'An object that cannot be read stops nothing',
    holds: (difference) =>
      isServing(difference) &&
      statesOf(difference.own).some((objects) =>
        addressesIn(objects).some(({ spec }) => addressOf(spec) === undefined),
      ),
  },
  {
    heading: 'A pool that is wrong in part is served in part',
    holds: (difference) => isServing(difference) && poolsOf(difference.own).some((pool) => !isRight(pool)),
  },
  {
    heading: 'The same address again',
    holds: ({ path, ours, own }) => {
      const { kind, name } = partsOf(path)
      if (kind !== 'IPAddress' || !/\.spec\.(address|prefix|gateway)$/.test(path)) return false
      const had = statesOf(own).map((objects) => addressesIn(objects).find(({ metadata }) => metadata.name === name))
      const goneAt = had.lastIndexOf(undefined)
      const before = had.slice(0, Math.max(0, goneAt)).findLast((address) => address !== undefined)
      return before !== undefined && (path.endsWith('.address') ? before.spec.address === ours : true)
    },
  },
  {
    heading: 'An address that is going is let go when it has no claim',
    holds: ({ path, recorded, own }) => {
      const { kind, name } = partsOf(path)
      const find = ({ final }: Case) => addressesIn(final).find(({ metadata }) => metadata.name === name)
      return kind === 'IPAddress' && isEnding(find(recorded)) && !isEnding(find(own))
    },
  },
  {
    heading: 'A grace period that is shortened ends sooner',
    holds: (difference) => {
      const { path, ours, recorded, own } = difference
      const isLeft = ({ metadata: { name } }: SeenClaim) =>
        !claimsIn(own.final).some(({ metadata }) => metadata.name === name)
      const names = claimsIn(recorded.final).filter((claim) => isEnding(claim) && isLeft(claim))
      if (names.length === 0 || !isShortened(recorded)) return false
      const isOfClaim = names.some(({ metadata }) => metadata.name === partsOf(path).name)
      return isOfCounts(difference) || (ours === undefined && (isOfClaim || isOfPool(difference)))
    },
  },
  {
    heading: 'An address that another object has is not adopted',
    holds: (difference) =>
      isServing(difference) &&
      !isOfCounts(difference) &&
      hasDuplicate(difference.recorded.final) &&
      !isBoundTwice(difference.own),
  },
  {
    heading: 'Two objects with one address are told of',
    holds: ({ path, theirs, own }) =>
      path.includes('.status.conditions[AddressUnique]') && theirs === undefined && statesOf(own).some(hasDuplicate),
  },
  {
    heading: 'Free prefixes are those that nothing in use overlaps',
    holds: ({ path, ours, own }) =>
      /Prefix/.test(partsOf(path).kind) &&
      path.endsWith('.status.ipAddresses.free') &&
      Number(ours) >= 0 &&
      statesOf(own).some((objects) => addressesIn(objects).length > 0),
  },
  {
    heading: 'The oldest claim is served first',
    holds: (difference) => {
      const [theirs, ours] = [difference.recorded, difference.own].map((each) => bound(each).map(nameOf).sort())
      const isOther = theirs!.length === ours!.length && theirs!.join() !== ours!.join()
      return isServing(difference) && !isOfCounts(difference) && isOther && isOldestFirst(difference.own)
    },
  },
]

interface SeenObject {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly deletionTimestamp?: unknown
    readonly finalizers?: readonly string[]
    readonly ownerReferences?: readonly { readonly controller?: boolean }[]
  }
}

interface SeenPool extends SeenObject {
  readonly spec: {
    readonly addresses?: readonly string[]
    readonly excludedAddresses?: readonly string[]
    readonly prefix?: number
    readonly addressReuseGracePeriodSeconds?: number
  }
  readonly status?: { readonly ipAddresses?: { readonly total?: Leaf } }
}

interface SeenAddress extends SeenObject {
  readonly spec: {
    readonly address: string
    readonly claimRef: { readonly name: string }
    readonly poolRef: { readonly kind: string; readonly name: string }
  }
}

interface SeenClaim extends SeenObject {
  readonly spec: { readonly poolRef: { readonly kind: string; readonly name: string } }
  readonly status?: { readonly addressRef?: { readonly name: string } }
}

function objectsOf<T extends SeenObject>(objects: Objects, isMeant: (kind: string) => boolean): readonly T[] {
  return Object.entries(objects).flatMap(([key, object]) => {
    const kind = key.slice(0, key.indexOf('/'))
    return isMeant(kind) ? [{ ...(object as T), kind }] : []
  })
}

const poolsIn = (objects: Objects) => objectsOf<SeenPool>(objects, (kind) => kind.endsWith('Pool'))
const addressesIn = (objects: Objects) => objectsOf<SeenAddress>(objects, (kind) => kind === 'IPAddress')
const claimsIn = (objects: Objects) => objectsOf<SeenClaim>(objects, (kind) => kind === 'IPAddressClaim')
const poolsOf = (recorded: Case) => statesOf(recorded).flatMap(poolsIn)

/** `.Kind/name.path`: a name of another namespace has that namespace before it. */
function partsOf(path: string): { readonly kind: string; readonly name: string } {
  const [, kind = '', name = ''] = /^\.(\w+)\/(?:[^./]+\/)?([^./]+)\./.exec(path) ?? []
  return { kind, name }
}

/** Whether it is about the address of a claim, or about counts of a pool. */
function isServing(difference: Difference): boolean {
  const { path } = difference
  return (
    /^\.IPAddress\//.test(path) || /^\.IPAddressClaim\/[^[]*\.status\.addressRef/.test(path) || isOfCounts(difference)
  )
}

function isOfCounts({ path }: Difference): boolean {
  return /\.status\.ipAddresses(\.|$)/.test(path)
}

function isOfPool({ path }: Difference): boolean {
  return partsOf(path).kind.endsWith('Pool')
}

function nameOf({ metadata }: SeenObject): string {
  return metadata.name
}

function isEnding(object: SeenObject | undefined): boolean {
  return object?.metadata.deletionTimestamp !== undefined
}

function isCapped(count: Leaf): boolean {
  return /^\d{19}$/.test(String(count)) && BigInt(String(count)) > CAP - 1024n
}

function addressOf({ address }: { readonly address: string }): Address | undefined {
  const read = Address.safeParse(address, { profile: 'k8s-legacy-read' })
  return read.ok ? read.value : undefined
}

/** The addresses of a pool; `undefined`: its list cannot be read. */
function spaceOf({ spec: { addresses = [], excludedAddresses = [] } }: SeenPool): RangeSet | undefined {
  const [all, excluded] = [addresses, excludedAddresses].map((texts) => RangeSet.safeParse(texts))
  return all?.ok === true && excluded?.ok === true ? RangeSet.subtract(all.value, excluded.value) : undefined
}

/** How many addresses of a pool can still be handed out: those that no object has. */
function freeIn(pool: SeenPool, objects: Objects): number | undefined {
  const space = spaceOf(pool)
  if (space === undefined) return undefined
  const held = addressesIn(objects).filter(({ spec: { poolRef } }) => {
    return poolRef.kind === pool.kind && poolRef.name === pool.metadata.name
  })
  const inRange = held.flatMap(({ spec }) => {
    const address = addressOf(spec)
    return address !== undefined && RangeSet.contains(space, address) ? [Address.format(address)] : []
  })
  return Number(pool.status?.ipAddresses?.total) - new Set(inRange).size
}

/** Whether all of a pool can be read, and is of one family that its prefix fits. */
function isRight(pool: SeenPool): boolean {
  const space = spaceOf(pool)
  if (space === undefined || RangeSet.isEmpty(space)) return false
  const families = new Set(RangeSet.prefixes(space).map(({ address }) => address.family))
  const [family] = families
  return families.size === 1 && (pool.spec.prefix ?? 0) <= (family === 4 ? 32 : 128)
}

/** Whether an IPAddress of another claim or pool was in the way of a claim, and has kept its address. */
function leavesForeign(own: Case): boolean {
  const states = statesOf(own)
  const foreign = states.flatMap((objects, at) =>
    addressesIn(objects).flatMap(({ metadata: { name }, spec: { address, claimRef, poolRef } }) => {
      const claim = claimsIn(objects).find(({ metadata }) => metadata.name === name)
      if (claim === undefined) return []
      const { poolRef: wanted } = claim.spec
      const isOfClaim = claimRef.name === name && poolRef.name === wanted.name && poolRef.kind === wanted.kind
      return isOfClaim ? [] : [{ name, address, at }]
    }),
  )
  const isKept = ({ name, address, at }: (typeof foreign)[number]) =>
    states.slice(at).every((objects) => {
      const now = addressesIn(objects).find(({ metadata }) => metadata.name === name)
      return now === undefined || now.spec.address === address
    })
  return foreign.length > 0 && foreign.every(isKept)
}

/** Whether a pool with a grace period got a shorter one, or was deleted. */
function isShortened(recorded: Case): boolean {
  const seconds = new Map<string, number>()
  return poolsOf(recorded).some((pool) => {
    const before = seconds.get(pool.metadata.name) ?? 0
    const now = isEnding(pool) ? 0 : (pool.spec.addressReuseGracePeriodSeconds ?? 0)
    seconds.set(pool.metadata.name, now)
    return now < before
  })
}

/** Whether a claim got its address from a pool that was being deleted before. */
function givesWhileEnding(recorded: Case): boolean {
  const states = statesOf(recorded)
  return states.some((objects, at) => {
    const before = states[at - 1] ?? {}
    const had = new Set(bound({ final: before }).map(({ metadata }) => metadata.name))
    const ending = poolsIn(before).filter(isEnding)
    return bound({ final: objects }).some(({ metadata, spec: { poolRef } }) => {
      const isFromEnding = ending.some(({ kind, metadata: { name } }) => kind === poolRef.kind && name === poolRef.name)
      return isFromEnding && !had.has(metadata.name)
    })
  })
}

function bound({ final }: Pick<Case, 'final'>): readonly SeenClaim[] {
  return claimsIn(final).filter(({ status }) => status?.addressRef !== undefined)
}

/** Whether two IPAddress objects of one pool have one address. */
function hasDuplicate(objects: Objects): boolean {
  const texts = addressesIn(objects).map(({ spec: { poolRef, address } }) => {
    return [poolRef.kind, poolRef.name, address].join(' ')
  })
  return new Set(texts).size < texts.length
}

/** Whether two claims are bound to IPAddress objects with one address. */
function isBoundTwice({ final }: Case): boolean {
  const names = new Set(bound({ final }).map(nameOf))
  return hasDuplicate(Object.fromEntries(Object.entries(final).filter(([key]) => names.has(key.split('/').at(-1)!))))
}

/** Whether no claim waits that was created before one that is bound, of the same pool. */
function isOldestFirst(own: Case): boolean {
  const order = [...new Set(statesOf(own).flatMap((objects) => claimsIn(objects).map(({ metadata }) => metadata.name)))]
  const names = new Set(bound(own).map(({ metadata }) => metadata.name))
  const waiting = claimsIn(own.final).filter(({ metadata }) => !names.has(metadata.name))
  return waiting.every((claim) =>
    bound(own).every((other) => {
      const isSamePool = other.spec.poolRef.name === claim.spec.poolRef.name
      return !isSamePool || order.indexOf(other.metadata.name) < order.indexOf(claim.metadata.name)
    }),
  )
}
