import { Ledger } from 'ipam-kit/allocator'
import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { ServiceCIDR } from 'ipam-kit/crd/networking'
import {
  bandsOf,
  namedServiceAddress,
  nextServiceAddress,
  type ServiceChoice,
  type ServiceRange,
  serviceCIDRProblem,
  serviceRanges,
  usableAddresses,
  usableRange,
} from 'ipam-kit/provider/service-ip'

type ServiceRefusal = Exclude<ServiceChoice, { readonly address: Address }>

export type ErrorName = 'ErrFull' | 'ErrAllocated' | 'ErrNotInRange' | 'ErrNotReady' | 'ErrMismatchedNetwork'

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

/** A ServiceCIDR that gives no addresses, and why. */
export class RangeRefused extends Error {}

export interface ServicePoolOptions {
  /**
   * The allocator of one range, or upstream's `MetaAllocator` over those of several: they call some
   * refusals by other names.
   */
  readonly of: 'one' | 'many'
  /** Ranges that are not ready, beside the others. */
  readonly notReady?: readonly Prefix[] | undefined
}

/** So many addresses can be drained. */
const MOST_DRAINED = 131_072
/** Far from each other, however many there are: multiples of the golden ratio. */
const STEP = 0.618_033_988_749_895

const ERRORS: Readonly<Record<ServicePoolOptions['of'], Readonly<Record<ServiceRefusal['kind'], ErrorName>>>> = {
  one: {
    full: 'ErrFull',
    allocated: 'ErrAllocated',
    notInRange: 'ErrNotInRange',
    notReady: 'ErrNotReady',
    mismatchedNetwork: 'ErrNotInRange',
  },
  many: {
    full: 'ErrFull',
    allocated: 'ErrAllocated',
    notInRange: 'ErrNotInRange',
    notReady: 'ErrMismatchedNetwork',
    mismatchedNetwork: 'ErrMismatchedNetwork',
  },
}

/**
 * The addresses of Services as provider/service-ip chooses them, and what upstream counts beside
 * it.
 */
export class ServicePool {
  readonly #options: ServicePoolOptions
  readonly #ledger = new Ledger({ space: RangeSet.empty })
  #prefixes: readonly Prefix[] = []
  #ranges: readonly ServiceRange[] = []
  readonly #records: Entry[] = []

  constructor(prefixes: readonly Prefix[], options: ServicePoolOptions) {
    this.#options = options
    this.prefixes = prefixes
  }

  /** A pool that begins as this one did. */
  another(): ServicePool {
    return new ServicePool(this.#prefixes, this.#options)
  }

  /** Those that are ready. */
  get prefixes(): readonly Prefix[] {
    return this.#prefixes
  }

  set prefixes(prefixes: readonly Prefix[]) {
    this.#prefixes = prefixes.map(Prefix.masked)
    const objects = [
      ...this.#prefixes.map((prefix) => objectOf(prefix, 'True')),
      ...(this.#options.notReady ?? []).map((prefix) => objectOf(prefix, 'False')),
    ]
    const problem = objects.map(serviceCIDRProblem).find((each) => each !== undefined)
    if (problem !== undefined) throw new RangeRefused(problem)
    this.#ranges = serviceRanges(objects)
    this.#ledger.setSpace({ space: usableAddresses(this.#ranges.filter(({ isReady }) => isReady)) })
  }

  get free(): bigint {
    return this.#ledger.counts().free
  }

  get used(): bigint {
    return BigInt(this.#ledger.counts().held)
  }

  /** The addresses in use, in order. */
  get inUse(): Address[] {
    return this.#ledger.entries().map(({ prefix }) => prefix.address)
  }

  allocateNext(): Attempt {
    return this.#take('dynamic', this.#next(), undefined)
  }

  allocate(address: Address): Attempt {
    return this.#take('static', this.#named(address), address)
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
    this.#ledger.delete(Address.format(address))
  }

  /** As the calls of the same names: a choice alone changes nothing. */
  readonly dryRun = {
    allocateNext: () => void this.#next(),
    allocate: (address: Address) => void this.#named(address),
    release: () => undefined,
  }

  /** Records addresses as in use, as they are read back. */
  restore(addresses: Iterable<Address>): void {
    for (const address of addresses) this.#occupy(address)
  }

  /** Whether a range that is ready has the address. */
  contains(address: Address): boolean {
    const { kind } = this.#named(address)
    return kind !== 'mismatchedNetwork' && kind !== 'notReady'
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

  #next(): ServiceChoice {
    const family = this.#ranges[0]?.prefix.address.family ?? 4
    const start = (this.#records.length * STEP) % 1
    return nextServiceAddress(this.#ranges, this.#ledger, { family, start })
  }

  #named(address: Address): ServiceChoice {
    return namedServiceAddress(this.#ranges, this.#ledger, address)
  }

  #take(scope: Scope, choice: ServiceChoice, asked: Address | undefined): Attempt {
    const attempt = choice.kind === 'free' ? choice.address : this.#errorOf(choice.kind, scope)
    const address = typeof attempt === 'string' ? asked : attempt
    const prefix = address && this.#prefixes.find((one) => isUsable(one, address))
    this.#records.push({ scope, prefix, isError: typeof attempt === 'string' })
    if (typeof attempt !== 'string') this.#occupy(attempt)
    return attempt
  }

  /** `MetaAllocator` passes over what is not ready, and then has nothing left. */
  #errorOf(kind: ServiceRefusal['kind'], scope: Scope): ErrorName {
    const isPassed = this.#options.of === 'many' && scope === 'dynamic' && kind !== 'allocated'
    return isPassed ? 'ErrFull' : ERRORS[this.#options.of][kind]
  }

  #occupy(address: Address): void {
    const text = Address.format(address)
    const prefix = Prefix.of(address, Address.bitsOf(address.family))
    this.#ledger.set(text, { prefix, reason: 'held', holder: { key: text } })
  }
}

/**
 * The order in which a ledger offers the addresses of a range to `nextServiceAddress`, and whether
 * it ends with the last one.
 */
export function walkAround(range: Range, offset: bigint): { readonly addresses: Address[]; readonly isEnded: boolean } {
  const ledger = new Ledger({ space: RangeSet.fromRanges([range]) })
  const size = Range.size(range)
  const addresses: Address[] = []
  let from = Address.add(range.first, ((offset % size) + size) % size)
  for (;;) {
    const prefix = ledger.next({ from, order: 'around' })
    if (prefix === undefined || BigInt(addresses.length) >= size) return { addresses, isEnded: prefix === undefined }
    ledger.set(Prefix.format(prefix), { prefix, reason: 'held', holder: { key: 'walk' } })
    addresses.push(prefix.address)
    from = prefix.address
  }
}

/** How many of the lowest addresses of a range are left to static requests. */
export function bandOf(prefix: Prefix): number {
  const { lower } = bandsOf(prefix)
  return lower === undefined ? 0 : Number(Range.size(lower))
}

/** How many addresses Services can have of a range. */
export function usableOf(prefix: Prefix): bigint {
  const usable = usableRange(prefix)
  return usable === undefined ? 0n : Range.size(usable)
}

function isUsable(prefix: Prefix, address: Address): boolean {
  const usable = usableRange(prefix)
  return usable !== undefined && Range.contains(usable, address)
}

function objectOf(prefix: Prefix, status: 'True' | 'False'): ServiceCIDR {
  const { apiVersion, kind } = ServiceCIDR.info
  const cidr = Prefix.format(prefix)
  const metadata = { name: cidr.replace(/[/:]/g, '-') }
  const ready = { type: 'Ready', status, lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'Given', message: '' }
  return ServiceCIDR.parse({ apiVersion, kind, metadata, spec: { cidrs: [cidr] }, status: { conditions: [ready] } })
}
