import { AddressPool, type AddressPoolSpec, reservedAddresses, staticBandOf } from 'ipam-kit/allocator'
import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'

export type ErrorName = 'ErrFull' | 'ErrAllocated' | 'ErrNotInRange'

/** What an attempt gave: an address, or upstream's name for why there is none. */
export type Attempt = Address | ErrorName

/** `static` for an address that was asked for by name, else `dynamic`. */
export type Scope = 'dynamic' | 'static'

interface Entry {
  readonly scope: Scope
  /** The range that the attempt was about, where one is known. */
  readonly prefix: Prefix | undefined
  readonly isError: boolean
}

/** So many addresses can be drained. */
const MOST_DRAINED = 131_072
const SEED = 1

/** The addresses of Services: an `AddressPool` over some prefixes, and what upstream counts beside it. */
export class ServicePool {
  readonly #cap: bigint | undefined
  readonly #pool: AddressPool
  #prefixes: readonly Prefix[] = []
  readonly #records: Entry[] = []
  #owners = 0

  /** @param cap how many addresses of an IPv6 prefix are used at most */
  constructor(prefixes: readonly Prefix[], cap: bigint | undefined) {
    this.#cap = cap
    this.#prefixes = prefixes.map(Prefix.masked)
    this.#pool = new AddressPool(this.#spec())
  }

  get prefixes(): readonly Prefix[] {
    return this.#prefixes
  }

  set prefixes(prefixes: readonly Prefix[]) {
    this.#prefixes = prefixes.map(Prefix.masked)
    this.#pool.resize(this.#spec())
  }

  get usable(): bigint {
    return this.#pool.counts().total
  }

  get free(): bigint {
    return this.#pool.counts().free
  }

  get used(): bigint {
    return this.#pool.counts().used
  }

  /** How many of the lowest addresses are left to static requests. */
  get band(): number {
    return bandOf(this.#prefixes, this.#cap)
  }

  /** The addresses in use, in order. */
  get inUse(): Address[] {
    return this.#pool.entries().map((entry) => entry.address)
  }

  allocateNext(): Attempt {
    const outcome = this.#pool.allocate({ owner: this.#newOwner() })
    const attempt = attemptOf(outcome)
    this.#record('dynamic', attempt, undefined)
    return attempt
  }

  allocate(address: Address): Attempt {
    const outcome = this.#pool.allocate({ owner: this.#newOwner(), want: { kind: 'address', address } })
    const attempt = attemptOf(outcome)
    this.#record('static', attempt, address)
    return attempt
  }

  /** All that is left, and the attempt that gave nothing more. */
  drain(): { readonly given: Address[]; readonly end: Attempt } {
    const given: Address[] = []
    for (;;) {
      const attempt = this.allocateNext()
      if (typeof attempt === 'string') return { given, end: attempt }
      given.push(attempt)
      if (given.length > MOST_DRAINED) throw new Error('the pool is too large to be drained')
    }
  }

  release(address: Address): void {
    for (const owner of this.#pool.ownersOf(address)) this.#pool.release(address, owner)
  }

  /** As the calls of the same names, taken back at once. */
  readonly dryRun = {
    allocateNext: () => this.#takeBack(this.#pool.allocate({ owner: this.#newOwner() })),
    allocate: (address: Address) =>
      this.#takeBack(this.#pool.allocate({ owner: this.#newOwner(), want: { kind: 'address', address } })),
    release: (address: Address) => {
      for (const owner of this.#pool.ownersOf(address)) this.#takeBack(this.#pool.release(address, owner))
    },
  }

  /** Records addresses as in use, as they are read back. False if one of them is not of the pool. */
  restore(addresses: readonly Address[]): boolean {
    const found = addresses.map((address) => this.#pool.occupy(address, this.#newOwner()))
    return found.every(({ kind }) => kind === 'occupied')
  }

  contains(address: Address): boolean {
    return RangeSet.contains(this.#pool.available, address)
  }

  /** How many attempts there were, by what is said of them. */
  count(wanted: {
    readonly isError: boolean
    readonly scope?: string | undefined
    readonly prefix?: Prefix | undefined
  }): number {
    const { isError, scope, prefix } = wanted
    return this.#records.filter(
      (record) =>
        record.isError === isError &&
        (scope === undefined || record.scope === scope) &&
        (prefix === undefined || (record.prefix !== undefined && Prefix.equals(record.prefix, prefix))),
    ).length
  }

  #spec(): AddressPoolSpec {
    return {
      ranges: rangesOf(this.#prefixes, this.#cap),
      strategy: { kind: 'random', seed: SEED },
      staticBand: bandOf(this.#prefixes, this.#cap),
    }
  }

  #record(scope: Scope, attempt: Attempt, asked: Address | undefined): void {
    const address = typeof attempt === 'string' ? asked : attempt
    const prefix = address && this.#prefixes.find((one) => RangeSet.contains(rangesOf([one], this.#cap), address))
    this.#records.push({ scope, prefix, isError: typeof attempt === 'string' })
  }

  #takeBack(outcome: ReturnType<AddressPool['allocate']> | ReturnType<AddressPool['release']>): void {
    if ('delta' in outcome && !this.#pool.undo(outcome.delta)) throw new Error('what was done can not be taken back')
  }

  #newOwner() {
    return { uid: `service-${this.#owners++}` }
  }
}

/** What prefixes give to Services: an address that one of them keeps back may be usable by another. */
function rangesOf(prefixes: readonly Prefix[], cap: bigint | undefined): RangeSet {
  return prefixes
    .map((prefix) =>
      RangeSet.subtract(RangeSet.fromRanges([cappedOf(prefix, cap)]), reservedAddresses([prefix], 'service')),
    )
    .reduce(RangeSet.union, RangeSet.empty)
}

/** The band of a single range. Of several the pool would have one for all of them, which is not upstream's. */
function bandOf(prefixes: readonly Prefix[], cap: bigint | undefined): number {
  const [prefix, another] = prefixes
  if (prefix === undefined || another !== undefined) return 0
  return staticBandOf(Number(Range.size(cappedOf(prefix, cap))))
}

function cappedOf(prefix: Prefix, cap: bigint | undefined): Range {
  const range = Range.fromPrefix(prefix)
  if (prefix.address.family === 4 || cap === undefined || Range.size(range) <= cap) return range
  return Range.of(range.first, Address.add(range.first, cap - 1n))
}

function attemptOf(outcome: ReturnType<AddressPool['allocate']>): Attempt {
  switch (outcome.kind) {
    case 'allocated':
      return outcome.address
    case 'exhausted':
      return 'ErrFull'
    case 'taken':
      return 'ErrAllocated'
    case 'outOfPool':
      return 'ErrNotInRange'
    default:
      throw new Error(`a new owner was answered ${outcome.kind}`)
  }
}
