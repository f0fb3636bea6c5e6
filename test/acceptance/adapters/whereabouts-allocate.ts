import { AddressPool, type Owner } from 'ipam-kit/allocator'
import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, refusedWith, unsupported } from '../answer.js'
import { inAskedOrder } from '../asked-order.js'
import { readInput } from '../read-input.js'

const texts = z.array(z.string())
const bound = z.string().nullable().default(null)
const name = z.string()
/**
 * What a row of a pool of whereabouts has; an assignment goes by the pod, a release by the
 * container.
 */
const byPod = { podRef: name, ifName: z.string().optional(), containerId: name.optional() }
const byContainer = { podRef: name.optional(), ifName: z.string().optional(), containerId: name }

const inputSchema = z.union([
  z.strictObject({
    op: z.literal('release'),
    reservations: z.array(z.strictObject({ ip: z.string(), ...byContainer })),
    request: z.strictObject(byContainer),
  }),
  z.strictObject({
    range: z.string(),
    rangeStart: bound,
    rangeEnd: bound,
    exclude: texts.default([]),
    reserved: texts.default([]),
    reservations: z.array(z.strictObject({ ip: z.string(), ...byPod })).default([]),
    request: z.strictObject(byPod).optional(),
  }),
])

type Input = z.output<typeof inputSchema>
type Release = Extract<Input, { op: 'release' }>
type Assignment = Exclude<Input, Release>

/**
 * Which address whereabouts gives to an interface, and which one it takes back: on a pool that
 * gives the lowest free one.
 */
export function whereaboutsAllocate({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  return 'op' in known.data ? release(known.data, expect) : assign(known.data, expect)
}

/** Who asks, where a case does not say it. */
const SOMEBODY = { podRef: 'whoever asks' }

function assign(input: Assignment, expect: unknown): Answer {
  const request = input.request ?? SOMEBODY
  const owner = interfaceOf(request)
  const pool = new AddressPool({ ranges: RangeSet.empty })
  for (const [index, text] of input.reserved.entries()) pool.occupy(readAddress(text), { uid: `other-${index}` })
  for (const held of input.reservations) pool.occupy(readAddress(held.ip), interfaceOf(held))
  // an interface is given what it has, whatever the configuration says now
  let outcome = pool.allocate({ owner })
  if (outcome.kind !== 'already') {
    const space = spaceOf(input)
    if (typeof space === 'string') return refusedWith(expect, space)
    pool.resize({ ranges: RangeSet.fromRanges([space.range]), exclude: space.exclude })
    outcome = pool.allocate({ owner })
    if (outcome.kind !== 'allocated') return refusedWith(expect, exhausted(space, input.exclude))
  }
  const { address, kind } = outcome
  if (kind === 'already') {
    // the row becomes that of the container that asks now
    pool.release(address, owner)
    pool.occupy(address, owner)
  }
  return answerKeys(expect, {
    ip: () => Address.format(address),
    reservedCount: () => pool.entries().flatMap(({ holds }) => holds).length,
    containerId: () => pool.ownersOf(address).find((one) => isSame(one, owner))?.key ?? null,
    error: () => false,
  })
}

function release({ reservations, request }: Release, expect: unknown): Answer {
  const pool = new AddressPool({ ranges: RangeSet.fromAddresses(reservations.map(({ ip }) => readAddress(ip))) })
  for (const held of reservations) pool.occupy(readAddress(held.ip), containerOf(held))
  const owner = containerOf(request)
  const released = pool.addressesOf(owner.uid).find((address) => pool.release(address, owner).kind === 'released')
  const left = pool.entries().map(({ address }) => Address.format(address))
  return answerKeys(expect, {
    released: () => (released === undefined ? null : Address.format(released)),
    left: (asked) => inAskedOrder(asked, left),
    leftCount: () => left.length,
    error: () => false,
  })
}

/** The owner of an assignment: an interface of a pod, whichever container it is of. */
function interfaceOf({ podRef, ifName, containerId }: NonNullable<Assignment['request']>): Owner {
  return { uid: podRef, interface: ifName || undefined, key: containerId }
}

function isSame(left: Owner, right: Owner): boolean {
  return left.uid === right.uid && left.interface === right.interface
}

/** The owner of a release: an interface of a container, whichever pod that is of. */
function containerOf({ ifName, containerId }: Release['request']): Owner {
  return { uid: containerId, interface: ifName || undefined }
}

/** The addresses to choose from: those of `range` without the excluded ones. */
interface Space {
  readonly prefix: Prefix
  readonly range: Range
  readonly exclude: RangeSet
}

/** The space of a configuration, or why there is none. */
function spaceOf(input: Assignment): Space | string {
  const parsed = Prefix.safeParse(input.range)
  if (!parsed.ok) return `invalid CIDR address: ${input.range}`
  const prefix = Prefix.masked(parsed.value)
  const interior = Prefix.interior(prefix)
  if (interior === undefined) return tooShort(prefix)
  // a bound counts only where it lies inside
  const first = within(interior, input.rangeStart) ?? interior.first
  const last = within(Range.of(first, interior.last), input.rangeEnd) ?? interior.last
  const excluded = RangeSet.builder()
  for (const text of input.exclude) {
    const subnet = Prefix.safeParse(text)
    const address = Address.safeParse(text)
    if (subnet.ok) excluded.add(subnet.value)
    else if (address.ok) excluded.add(Address.unmap(address.value))
    else return `could not parse exclude range, err: ${JSON.stringify(`invalid CIDR address: ${text}`)}`
  }
  return { prefix, range: Range.of(first, last), exclude: excluded.build() }
}

function within(range: Range, text: string | null): Address | undefined {
  const address = text === null || text === '' ? undefined : readAddress(text)
  return address !== undefined && Range.contains(range, address) ? address : undefined
}

/** An address as Go's net.IP has it, to which IPv4-mapped IPv6 is IPv4. */
function readAddress(text: string): Address {
  return Address.unmap(Address.parse(text))
}

/** Upstream's words where every address is taken or excluded. */
function exhausted({ prefix, range }: Space, exclude: readonly string[]): string {
  const [first, last] = [range.first, range.last].map(Address.format)
  const excluded = `[${exclude.join(' ')}]`
  return `Could not allocate IP in range: ip: ${first} / - ${last} / range: ${Prefix.format(prefix)} / excludeRanges: ${excluded}`
}

/** Upstream names the subnet as Go prints it: the mask in hexadecimal digits. */
function tooShort(prefix: Prefix): string {
  const bits = Address.bitsOf(prefix.address.family)
  const mask = (1n << BigInt(bits)) - (1n << BigInt(bits - prefix.length))
  const subnet = `{${Address.format(prefix.address)} ${mask.toString(16).padStart(bits / 4, '0')}}`
  return `net mask is too short, subnet ${subnet} has no usable IP addresses, it is too small`
}
