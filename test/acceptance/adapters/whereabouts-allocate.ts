import { Address, Prefix } from 'ipam-kit/cidr'
import {
  chooseAddress,
  type RowOwner,
  rowsToRelease,
  rowsToReuse,
  type WhereaboutsRange,
} from 'ipam-kit/provider/whereabouts'
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

interface Row extends RowOwner {
  readonly address: Address
}

/**
 * Which address whereabouts gives to an interface, and which one it takes back. Upstream gives a
 * pod its old address, also to another container of it.
 */
export function whereaboutsAllocate({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  return 'op' in known.data ? release(known.data, expect) : assign(known.data, expect)
}

/** Who asks, where a case does not say it. */
const SOMEBODY = { podRef: 'whoever asks' }

function assign(input: Assignment, expect: unknown): Answer {
  const others = input.reserved.map((ip, index) => ({ ip, podRef: `other-${index}` }))
  const rows = [...others, ...input.reservations].map(rowOf)
  const owner = ownerOf(input.request ?? SOMEBODY)
  const [own] = rowsToReuse(rows, owner, 'pod')
  if (own !== undefined) {
    return answersOf(
      expect,
      rows.map((row) => (row === own ? { ...own, id: owner.id } : row)),
      own.address,
    )
  }
  const range = rangeOf(input)
  if (range === undefined) return refusedWith(expect, `invalid CIDR address: ${input.range}`)
  const choice = chooseAddress(range, { taken: rows.map(({ address }) => address) })
  if (choice.kind !== 'chosen') return refusedWith(expect, choice.message)
  return answersOf(expect, [...rows, { ...owner, address: choice.address }], choice.address)
}

function answersOf(expect: unknown, rows: readonly Row[], address: Address): Answer {
  return answerKeys(expect, {
    ip: () => Address.format(address),
    reservedCount: () => rows.length,
    containerId: () => rows.find((row) => Address.equals(row.address, address))?.id ?? null,
    error: () => false,
  })
}

function release({ reservations, request }: Release, expect: unknown): Answer {
  const rows = reservations.map(rowOf)
  const released = rowsToRelease(rows, ownerOf(request))
  const left = rows.filter((row) => !released.includes(row)).map(({ address }) => Address.format(address))
  return answerKeys(expect, {
    released: () => (released[0] === undefined ? null : Address.format(released[0].address)),
    left: (asked) => inAskedOrder(asked, left),
    leftCount: () => left.length,
    error: () => false,
  })
}

function ownerOf({ podRef = '', ifName, containerId = '' }: Partial<Release['request']>): RowOwner {
  return { podref: podRef, id: containerId, ifname: ifName }
}

function rowOf({ ip, ...owner }: Partial<Release['request']> & { readonly ip: string }): Row {
  return { address: readAddress(ip), ...ownerOf(owner) }
}

function rangeOf(input: Assignment): WhereaboutsRange | undefined {
  const prefix = Prefix.safeParse(input.range)
  if (!prefix.ok) return undefined
  const [start, end] = [input.rangeStart, input.rangeEnd].map((text) => (text ? readAddress(text) : undefined))
  return { prefix: Prefix.masked(prefix.value), start, end, exclude: input.exclude }
}

/** An address as Go's net.IP has it, to which IPv4-mapped IPv6 is IPv4. */
function readAddress(text: string): Address {
  return Address.unmap(Address.parse(text))
}
