import { assertAddress } from '../../../cidr/internal.js'
import * as Address from '../../../cidr/nouns/address.js'
import type { Prefix } from '../../../cidr/nouns/prefix.js'
import { isName } from '../../../crd/ipam-kit/block-name.js'
import { MAX_NAME_LENGTH, MAX_ROW_TEXTS, PLAIN_PATTERN } from '../../../crd/ipam-kit/names.js'
import { subdomainProblem } from '../../../crd/meta/names.js'
import { refuse } from '../../../errors/refuse.js'

/** The owner of an address. */
export interface BlockOwner {
  /** The uid of the object: a new object of the same name is another owner. */
  readonly uid: string
  /** `namespace/name`, or `name`. */
  readonly name: string
  /** Its kind, as `Kind.group`. Default `Pod`. */
  readonly kind?: string | undefined
}

/**
 * Requests an address of each family, or a prefix. The same owner and interface get the same again.
 */
export interface AllocationRequest {
  readonly owner: BlockOwner
  /** The interface of the owner. Left out: the owner has one. */
  readonly interface?: string | undefined
  /**
   * The id of the container, so that a late release for an earlier container is recognised. A
   * container that was released does not request again.
   */
  readonly container?: string | undefined
  readonly mac?: string | undefined
  /** The names of the pools to use, in order of preference. */
  readonly pools: readonly string[]
  /** The families that are needed: one address of each, all or none. At least one. */
  readonly families: readonly (4 | 6)[]
  /** The node of the owner. */
  readonly node?: { readonly name: string; readonly labels?: Labels | undefined } | undefined
  /** The labels of the owner's namespace. */
  readonly namespaceLabels?: Labels | undefined
  /** Exactly these addresses. At most one of a family. */
  readonly addresses?: readonly Address.Address[] | undefined
  /**
   * Whether an IPHandle names the blocks of the owner. Tasks that do not know all blocks then find
   * its rows, also after a crash. Costs a write, or a read. Default false.
   */
  readonly handle?: boolean | undefined
  /**
   * The holder of an address or prefix that has no row, as a text: it is given to no other owner.
   * Called for units without a row, one unit of the pool at a time. Must be synchronous and without
   * side effects. Left out: such units have no holder.
   */
  readonly heldBy?: ((prefix: Prefix) => string | undefined) | undefined
  /**
   * Prefixes of these lengths, of pools that give prefixes: at most as long as the units of the
   * pool.
   */
  readonly prefixLengths?: { readonly ipv4?: number | undefined; readonly ipv6?: number | undefined } | undefined
  /** This number of consecutive addresses of each family. Not with `prefixLengths`. Default 1. */
  readonly count?: number | undefined
}

/**
 * Requests rows for addresses that the owner has already without a row, as a claim by its
 * IPAddress. A row of an earlier owner of the same kind and name becomes the row of this one: two
 * owners of one name do not exist at the same time.
 */
export interface AdoptionRequest extends Omit<AllocationRequest, 'prefixLengths'> {
  /** One of each requested family. */
  readonly addresses: readonly Address.Address[]
  /**
   * What happens with an address that no pool of the request gives:
   *
   * - `refuse`: `outOfPool`, unless an earlier owner of the name has a row for it
   * - `record`: it gets a row in its block, if the pool has its family. Where the pool gives
   *   prefixes, it has to be the first address of one. With `count` all addresses have to lie in
   *   one block. Else `outOfPool`. A block that is created for it belongs to no node
   */
  readonly outOfRange: 'record' | 'refuse'
}

export type TaskRequest = AllocationRequest | AdoptionRequest

export function isAdoption(request: TaskRequest): request is AdoptionRequest {
  return (request as AdoptionRequest).outOfRange !== undefined
}

/** The `outOfRange` of a request; `undefined`: the request adopts nothing. */
export function outOfRangeOf(request: TaskRequest): AdoptionRequest['outOfRange'] | undefined {
  return isAdoption(request) ? request.outOfRange : undefined
}

export type Labels = { readonly [key: string]: string }

/** Releases the addresses of an owner: all of them, or those that match all fields given. */
export interface ReleaseRequest {
  readonly owner: { readonly uid: string }
  readonly interface?: string | undefined
  readonly container?: string | undefined
  readonly address?: Address.Address | undefined
  /** The sequence of the allocation: what the owner has got since stays. */
  readonly sequence?: number | undefined
  /**
   * Whether the IPHandle of the owner names the blocks, as with `handle` of an
   * {@link AllocationRequest}. Without a handle object, `pools` are searched, if given. Default
   * false.
   */
  readonly handle?: boolean | undefined
  /**
   * The pools that may have given the addresses. Not necessary for callers that know all blocks.
   * Other callers read the block of the address, or without an address all blocks of the domains of
   * these pools.
   */
  readonly pools?: readonly string[] | undefined
}

/** What an owner has got. */
export interface Allocation {
  readonly family: 4 | 6
  /** The address, or the prefix; of several, the first. */
  readonly address: Address.Address
  /** How many consecutive ones. */
  readonly count: number
  /** The prefix that was given: of full length for an address. */
  readonly prefix: Prefix
  /** The subnet of the pool that contains it, if the pool still has that. */
  readonly subnet: Prefix | undefined
  readonly gateway: Address.Address | undefined
  readonly pool: string
  /** Name of the IPBlock. */
  readonly block: string
  /** Goes with a release, so that a late one takes nothing from the next owner. */
  readonly sequence: number
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function assertRequest(of: string, request: AllocationRequest): void {
  const { owner, pools, families, addresses = [], prefixLengths, count } = request ?? {}
  for (const field of ['uid', 'name'] as const) {
    if (typeof owner?.[field] !== 'string' || owner[field] === '')
      refuse(of, `owner.${field}`, 'a text', owner?.[field])
  }
  if (!isNames(pools)) refuse(of, 'pools', 'at least one name', pools)
  const isFamilies = Array.isArray(families) && families.length > 0 && families.every((it) => it === 4 || it === 6)
  if (!isFamilies || new Set(families).size !== families.length)
    refuse(of, 'families', '4, 6 or both, each once', families)
  for (const address of addresses) assertAddress(of, 'addresses', address)
  const asked = addresses.map(({ family }) => family)
  if (new Set(asked).size !== asked.length || !asked.every((family) => families.includes(family))) {
    refuse(of, 'addresses', 'at most one of each family that is asked for', addresses.map(Address.format).join(', '))
  }
  assertTexts(of, request)
  for (const family of ['ipv4', 'ipv6'] as const) {
    const [length, most] = [prefixLengths?.[family], family === 'ipv4' ? 32 : 128]
    if (length !== undefined && !(Number.isInteger(length) && length >= 0 && length <= most)) {
      refuse(of, `prefixLengths.${family}`, `a whole number, 0 to ${most}`, length)
    }
    if (length !== undefined && !families.includes(family === 'ipv4' ? 4 : 6)) {
      refuse(of, `prefixLengths.${family}`, 'of a family that is asked for', length)
    }
  }
  if (count !== undefined && !(Number.isInteger(count) && count >= 1))
    refuse(of, 'count', 'a whole number from 1', count)
  const { heldBy } = request
  if (heldBy !== undefined && typeof heldBy !== 'function') refuse(of, 'heldBy', 'a function', heldBy)
  if (count !== undefined && count !== 1 && prefixLengths !== undefined)
    refuse(of, 'count', 'nothing beside prefixLengths', count)
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function assertRelease(request: ReleaseRequest): void {
  const { owner, address, sequence, pools } = request ?? {}
  if (typeof owner?.uid !== 'string') refuse('release', 'owner.uid', 'a text', owner?.uid)
  if (address !== undefined) assertAddress('release', 'address', address)
  if (sequence !== undefined && !Number.isSafeInteger(sequence))
    refuse('release', 'sequence', 'a whole number', sequence)
  if (pools !== undefined && !isNames(pools)) refuse('release', 'pools', 'at least one name', pools)
  assertTexts('release', request)
}

function isNames(pools: unknown): boolean {
  return Array.isArray(pools) && pools.length > 0 && pools.every((pool) => typeof pool === 'string')
}

const PLAIN = /* @__PURE__ */ new RegExp(PLAIN_PATTERN, 'u')
const MAC = /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/iu

const ARGUMENTS = {
  owner: 'owner.name',
  uid: 'owner.uid',
  kind: 'owner.kind',
  interface: 'interface',
  container: 'container',
} as const

type RowTexts = Pick<AllocationRequest, 'interface' | 'container' | 'mac' | 'node'> & {
  readonly owner: Pick<BlockOwner, 'uid'> & Partial<BlockOwner>
  readonly pools?: readonly string[] | undefined
}

/** Texts that are stored in a row: an invalid one would make the block unreadable. */
function assertTexts(of: string, { owner, interface: name, container, mac, node, pools = [] }: RowTexts): void {
  const texts = { owner: owner.name, uid: owner.uid, kind: owner.kind, interface: name, container } as const
  for (const field of ['owner', 'uid', 'kind', 'interface', 'container'] as const) {
    const text: unknown = texts[field]
    const most = MAX_ROW_TEXTS[field]
    if (text === undefined || (typeof text === 'string' && text.length <= most && PLAIN.test(text))) continue
    const expected = `1 to ${most} printable ASCII characters without blanks, ", \\, <, > and &`
    refuse(of, ARGUMENTS[field], expected, text)
  }
  // as the key of an object it has a special meaning
  if (name === '__proto__') refuse(of, 'interface', 'another name', name)
  if (mac !== undefined && !(typeof mac === 'string' && MAC.test(mac))) {
    refuse(of, 'mac', 'six bytes, as 02:00:00:00:00:01', mac)
  }
  const isNode = node === undefined || (typeof node?.name === 'string' && subdomainProblem(node.name) === undefined)
  if (!isNode) refuse(of, 'node.name', 'the name of a node', node?.name)
  const pool = pools.find((each) => !isName(each))
  if (pool !== undefined)
    refuse(of, 'pools', `names of pools, DNS subdomains of up to ${MAX_NAME_LENGTH} characters`, pool)
}
