import { assertAddress, assertPrefix } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import { check, type KindOf } from '../../errors/check.js'
import { INVALID_ROW_ADDRESS } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import { asObject, type JsonObject } from '../meta/json.js'
import type { MergePatch } from '../meta/patch.js'
import type { IPAllocation, IPPool } from './ip-pool.js'

type Prefix = Prefix.Prefix

/** A row of a pool with its address. */
export interface PoolRow {
  /** The key as it is stored. Write and delete the row by this text. */
  readonly key: string
  readonly address: Address.Address
  /** The id of the container. */
  readonly id: string
  /** The namespace and the name of the Pod: `default/web-0`. Empty: the holder is unknown. */
  readonly podref: string
  /** The name of the interface in the Pod. */
  readonly ifname?: string | undefined
  /** The row as it is stored, with members that this library does not know. */
  readonly stored: JsonObject
}

/**
 * What is unusual about a row or a pool. Upstream deletes rows of the kinds that are marked with *
 * when it next writes the pool, whatever Pod has the address.
 *
 * | kind | what it is | is also in `rows` |
 * |---|---|---|
 * | `range` | `spec.range` is not a CIDR: no row has an address | no |
 * | `key-unreadable` * | the key is not a whole number | no |
 * | `key-outside` | the key is no address of the range | no |
 * | `row-unreadable` * | the row has no texts `id` and `podref` | no |
 * | `key-spelling` * | the key is another text than upstream writes: `01`, `+1`, `-1` for 2^64 - 1 | yes |
 * | `key-large` * | the offset is 2^63 or more: upstream takes the address for free | yes |
 * | `duplicate` | another row has the same address. Each of them has this oddity | yes |
 *
 * In a pool with keys that are outside, upstream fails to write any row of an IPv4 pool.
 */
export interface RowOddity {
  readonly kind:
    | 'range'
    | 'key-unreadable'
    | 'key-outside'
    | 'row-unreadable'
    | 'key-spelling'
    | 'key-large'
    | 'duplicate'
  /** The key of the row. Left out for `range`. */
  readonly key?: string | undefined
  /** The address of the row, if it has one. It can be outside of the range. */
  readonly address?: Address.Address | undefined
  /** What is unusual, as one sentence. */
  readonly problem: string
  /** The row as it is stored; for `range` the text of the range. */
  readonly stored: unknown
}

/** The rows of a pool. */
export interface PoolRows {
  /** The range with the literal address from which keys count. `undefined` if it is not a CIDR. */
  readonly range: Prefix | undefined
  /** The rows with an address in the range, in the order of the object. */
  readonly rows: readonly PoolRow[]
  readonly oddities: readonly RowOddity[]
}

/**
 * The rows of a pool, with keys read as upstream means them. O(rows).
 *
 * A key is the offset from the address in `spec.range`, which may have host bits: key 7 of
 * `10.9.0.8/24` is 10.9.0.15. A negative key is read as a signed number of 64 bits, as old versions
 * wrote it: -1 is 2^64 - 1. Offsets of 2^64 and more have no key of their own: upstream cuts their
 * high bits off, and the row of another address stands there.
 *
 * Never write a whole pool back: rows that are not understood would be lost. {@link rowPatch}
 * writes one row.
 *
 * @example
 * import { Address } from 'ipam-kit/cidr'
 * const spec = { range: '10.0.0.0/24', allocations: { '1': { id: 'c', podref: 'default/web-0', ifname: 'net1' }, x: {} } }
 * const { rows, oddities } = readRows({ spec })
 * rows.map(({ key, address, podref }) => [key, Address.format(address), podref]) // [['1', '10.0.0.1', 'default/web-0']]
 * oddities.map(({ kind, key }) => [kind, key]) // [['key-unreadable', 'x']]
 */
export function readRows(pool: Pick<IPPool, 'spec'>): PoolRows {
  check('readRows', 'pool', pool, ['open', { spec: ['open', { range: 'text', allocations: 'object' }] }])
  const { range: text, allocations } = pool.spec
  const parsed = Prefix.safeParse(text)
  if (!parsed.ok) {
    const problem = `spec.range is not a CIDR: ${parsed.failure.context.problem}`
    return { range: undefined, rows: [], oddities: [{ kind: 'range', problem, stored: text }] }
  }
  const range = parsed.value
  const rows: PoolRow[] = []
  const oddities: RowOddity[] = []
  for (const [key, stored] of Object.entries(allocations)) {
    const found = readRow(range, key, stored)
    if (found.row !== undefined) rows.push(found.row)
    oddities.push(...found.oddities)
  }
  return { range, rows, oddities: [...oddities, ...duplicatesOf(rows)] }
}

interface RowReading {
  readonly row?: PoolRow
  readonly oddities: readonly RowOddity[]
}

const NO_ODDITIES: readonly RowOddity[] = []

function readRow(range: Prefix, key: string, stored: unknown): RowReading {
  const offset = readKey(key)
  if (offset === undefined) {
    return { oddities: [{ kind: 'key-unreadable', key, problem: 'the key is not a whole number of 64 bits', stored }] }
  }
  const address = addressAt(range, offset)
  const outside = (problem: string): RowReading => ({
    oddities: [{ kind: 'key-outside', key, ...(address && { address }), problem, stored }],
  })
  if (address === undefined) return outside('the key is beyond the last address of the family')
  if (!Prefix.contains(range, address)) return outside('the key is beyond the last address of the range')
  const fields = asObject(stored)
  const { id, podref, ifname } = fields ?? {}
  const isRow = typeof id === 'string' && typeof podref === 'string'
  if (fields === undefined || !isRow || (ifname !== undefined && ifname !== null && typeof ifname !== 'string')) {
    const problem = 'the row has no texts id and podref, or an ifname that is no text'
    return { oddities: [{ kind: 'row-unreadable', key, address, problem, stored }] }
  }
  const row = { key, address, id, podref, ...(typeof ifname === 'string' && { ifname }), stored: fields }
  return { row, oddities: oddKeyOf(row, offset) }
}

function oddKeyOf({ key, address, stored }: PoolRow, offset: bigint | number): readonly RowOddity[] {
  const canonical = String(offset)
  if (key !== canonical) {
    return [{ kind: 'key-spelling', key, address, problem: `upstream writes the key as ${canonical}`, stored }]
  }
  if (typeof offset === 'number' || offset < LARGE) return NO_ODDITIES
  const problem = 'the offset is 2^63 or more: upstream overlooks the row, and deletes it at its next write'
  return [{ kind: 'key-large', key, address, problem, stored }]
}

/** Rows that have an address together. */
function duplicatesOf(rows: readonly PoolRow[]): readonly RowOddity[] {
  const byAddress = new Map<number | string, PoolRow[]>()
  for (const row of rows) {
    const id = Address.key(row.address)
    const others = byAddress.get(id)
    if (others === undefined) byAddress.set(id, [row])
    else others.push(row)
  }
  return [...byAddress.values()].flatMap((same) =>
    same.length < 2
      ? []
      : same.map(({ key, address, stored }): RowOddity => {
          const others = same.flatMap((other) => (other.key === key ? [] : [other.key]))
          return {
            kind: 'duplicate',
            key,
            address,
            problem: `also the address of the key ${others.join(', ')}`,
            stored,
          }
        }),
  )
}

const WHOLE_NUMBER = /^([+-]?)([0-9]+)$/
/** A key of upstream has 20 characters. More zeros before it are read up to this. */
const MAX_KEY_LENGTH = 64
/** Numbers of up to 15 digits are exact. */
const MAX_EXACT_LENGTH = 15
const LARGE = 1n << 63n
const KEYS = 1n << 64n

/** The offset that a key says; `undefined` for a text that is no number of 64 bits. */
function readKey(key: string): bigint | number | undefined {
  if (key.length > MAX_KEY_LENGTH) return undefined
  const parts = WHOLE_NUMBER.exec(key)
  if (parts === null) return undefined
  const [, sign, digits = ''] = parts
  if (sign !== '-' && digits.length <= MAX_EXACT_LENGTH) return Number(digits)
  const value = BigInt(digits)
  if (sign !== '-') return value < KEYS ? value : undefined
  if (value > LARGE) return undefined
  return value === 0n ? 0 : KEYS - value
}

function addressAt(range: Prefix, offset: bigint | number): Address.Address | undefined {
  const { family } = range.address
  const most = (1n << BigInt(Address.bitsOf(family))) - 1n - Address.toBigInt(range.address)
  return BigInt(offset) > most ? undefined : Address.add(range.address, offset)
}

/**
 * The key of the row of an address: its offset from the address in `spec.range`, as decimal text.
 * Different addresses of a range have different keys. O(1).
 *
 * An offset of 2^63 or more gets the key that upstream writes. Upstream itself overlooks such a row
 * when it reads the pool, gives the address again, and deletes the row at its next write.
 *
 * @param range as `readRows` returns it: with the literal address of `spec.range`
 * @returns the failure `INVALID_ROW_ADDRESS` for an address that has no key: one of another family,
 * outside of the range, below the literal address (upstream writes the distance, which is the key
 * of another address), or 2^64 and more above it (upstream cuts the high bits off)
 * @throws IpamError `INVALID_ARGUMENT` for a range or an address that is none
 * @example
 * import { Address, Prefix } from 'ipam-kit/cidr'
 * rowKey(Prefix.parse('10.0.0.0/24'), Address.parse('10.0.0.7')) // { ok: true, value: '7' }
 */
export function rowKey(range: Prefix, address: Address.Address): Result<string, 'INVALID_ROW_ADDRESS'> {
  assertPrefix('rowKey', 'range', range)
  assertAddress('rowKey', 'address', address)
  const none = (problem: string) =>
    failWith(INVALID_ROW_ADDRESS, { range: Prefix.format(range), address: Address.format(address), problem })
  if (!Prefix.contains(range, address)) return none('it is outside of the range')
  const offset = Address.distance(range.address, address)
  if (offset < 0n) return none('it is below the address that the range is written with')
  return offset < KEYS ? ok(String(offset)) : none('it is 2^64 or more above the first address')
}

/**
 * Whether a text is the key of an address of the range, in any spelling that upstream reads. O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a range that is none
 * @example
 * import { Prefix } from 'ipam-kit/cidr'
 * const range = Prefix.parse('10.0.0.0/24')
 * isKeyOf(range, '255') // true
 * isKeyOf(range, '01') // true
 * isKeyOf(range, '256') // false
 */
export function isKeyOf(range: Prefix, key: string): boolean {
  assertPrefix('isKeyOf', 'range', range)
  check('isKeyOf', 'key', key, 'text')
  const offset = readKey(key)
  const address = offset === undefined ? undefined : addressAt(range, offset)
  return address !== undefined && Prefix.contains(range, address)
}

const ROW: KindOf<IPAllocation> = ['open', { id: 'text', podref: 'text', ifname: 'text?' }]

/**
 * The merge patch of a pool that writes or deletes one row, and leaves all others as they are. A
 * row that exists keeps the members that the new one does not have.
 *
 * @param key the literal key of the row, or for a new row what {@link rowKey} returns
 * @param row `null` deletes the row
 * @example
 * rowPatch('7', null) // { spec: { allocations: { '7': null } } }
 */
export function rowPatch(key: string, row: IPAllocation | null): MergePatch {
  check('rowPatch', 'key', key, 'text')
  if (row !== null) check('rowPatch', 'row', row, ROW)
  return { spec: { allocations: Object.fromEntries([[key, row]]) } }
}

/** A Pod, as rows name it. */
export interface PodName {
  readonly namespace: string
  readonly name: string
}

/**
 * The Pod of a row or a reservation. O(length).
 *
 * @returns `undefined` for a text that is not a namespace and a name with one slash between them
 * @example
 * readPodref('default/web-0') // { namespace: 'default', name: 'web-0' }
 */
export function readPodref(podref: string): PodName | undefined {
  check('readPodref', 'podref', podref, 'text')
  const [namespace, name, ...rest] = podref.split('/')
  return namespace && name && rest.length === 0 ? { namespace, name } : undefined
}
