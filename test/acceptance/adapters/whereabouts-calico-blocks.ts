import { Address, Prefix, PrefixMap, RangeSet } from 'ipam-kit/cidr'
import type { IPBlock } from 'ipam-kit/crd/ipam-kit'
import * as z from 'zod'
import { type Answer, type Answers, answerKeys, type GivenCase, isRecord, those, unsupported } from '../answer.js'
import { inAskedOrder } from '../asked-order.js'
import { countOrText } from '../count.js'
import { exactCount } from '../exact-count.js'
import { readInput } from '../read-input.js'
import { BLOCK_BITS, released, StoredBlocks } from '../stored-blocks.js'

const texts = z.array(z.string())
const attributes = z.record(z.string(), z.string())

const rowSchema = z.strictObject({
  ordinals: z.array(z.int().nonnegative()),
  handle: z.string().optional(),
  seq: z.int().nonnegative().optional(),
  releasedSecondsAgo: z.number().optional(),
  activeOwner: attributes.optional(),
  alternateOwner: attributes.optional(),
})

const opSchema = z.strictObject({
  reserved: texts.optional(),
  byHandle: z.string().optional(),
  attributesOf: z.string().optional(),
  release: z
    .array(z.strictObject({ ip: z.string(), handle: z.string().optional(), seq: z.int().nonnegative().optional() }))
    .optional(),
  releaseByHandle: z
    .strictObject({ handle: z.string(), seq: z.int().nonnegative().optional(), ip: z.string().optional() })
    .optional(),
  gc: z
    .strictObject({
      cooldownSeconds: z.number().nonnegative().default(0),
      spuriousAttributeRows: z.int().nonnegative().default(0),
    })
    .optional(),
  cooldownSeconds: z.number().nonnegative().optional(),
})

const inputSchema = z.union([
  z.strictObject({ block: z.string(), allocations: z.array(rowSchema).default([]), op: opSchema.default({}) }),
  z.strictObject({ pool: z.string(), reservations: texts.default([]), blocks: texts.default([]) }),
  z.strictObject({ pool: z.string(), blockSize: z.int(), seed: z.string() }),
  z.strictObject({ reserved: texts }),
  z.strictObject({ filter: texts }),
  z.strictObject({ cidrs: texts.nullable() }),
])

type BlockInput = Extract<z.output<typeof inputSchema>, { block: string }>
type SpaceInput = Extract<z.output<typeof inputSchema>, { reservations: string[] }>
type Op = z.output<typeof opSchema>
type Row = z.output<typeof rowSchema>

/**
 * The blocks of Calico as those of `provider/blocks`; and the arithmetic of its reservations, on
 * sets.
 */
export async function whereaboutsCalicoBlocks({ input, expect }: GivenCase): Promise<Answer> {
  const op = isRecord(input) && isRecord(input.op) ? Object.keys(input.op) : []
  if (op.length > 0 && !op.some((key) => key in opSchema.shape)) return unsupported(`op: ${op.join()}`)
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const asked = known.data
  if ('block' in asked) return blockAnswers(asked, expect)
  if ('seed' in asked) return randomOrder(Prefix.parse(asked.pool), asked.blockSize, asked.seed, expect)
  if ('pool' in asked) return spaceAnswers(asked, expect)
  if ('reserved' in asked) {
    return answerKeys(expect, { cidrs: () => reservations(asked.reserved).map(Prefix.format) })
  }
  if ('filter' in asked) return answerKeys(expect, filterAnswers(asked.filter))
  return answerKeys(expect, coverAnswers(asked.cidrs ?? []))
}

/**
 * The handle under which Calico keeps back what a node with Windows needs: nobody uses those
 * addresses.
 */
const RESERVED_HANDLE = 'windows-reserved-ipam-handle'

async function blockAnswers({ block: text, allocations, op }: BlockInput, expect: unknown): Promise<Answer> {
  const prefix = Prefix.parse(text)
  const cooldownSeconds = op.gc?.cooldownSeconds ?? op.cooldownSeconds ?? 0
  const reserved = RangeSet.fromPrefixes(reservations(op.reserved ?? []))
  // a larger block than ours can be is several of them
  const blockLength = Math.max(prefix.length, Address.bitsOf(prefix.address.family) - BLOCK_BITS)
  if (Prefix.subnetCount(prefix, blockLength) > MOST_BLOCKS) return unsupported(`more than ${MOST_BLOCKS} blocks`)
  const spec = { prefix, blockLength, reserved, cooldownSeconds }
  const handles = [...new Set(allocations.map(({ handle }) => handle))]
  // a handle is any text, and a uid is not
  const uidOf = ({ handle }: { readonly handle?: string | undefined }) => `handle-${handles.indexOf(handle)}`
  const handleOf = (uid: string) => handles[Number(uid.slice('handle-'.length))]
  const placed = allocations.flatMap((row, index) => row.ordinals.map((ordinal) => ({ ordinal, row, index })))
  const rowsIn = placed.map(({ ordinal, row, index }) => ({
    ordinal,
    row: rowOf(row, index, uidOf(row), cooldownSeconds),
  }))
  const begin = async () => {
    const blocks = await StoredBlocks.create(spec)
    for (const piece of Prefix.split(prefix, blockLength)) {
      const start = Number(Address.distance(Prefix.first(prefix), Prefix.first(piece)))
      const own = rowsIn.filter(({ ordinal }) => ordinal >= start && ordinal < start + Number(Prefix.size(piece)))
      await blocks.add(piece, Object.fromEntries(own.map(({ ordinal, row }) => [String(ordinal - start), row])))
    }
    return blocks
  }
  const tried = await begin()
  const done = await opAnswers(op, tried, { prefix, rows: allocations, uidOf, handleOf })
  // to Calico a release is all or nothing
  const blocks = done.isFailed ? await begin() : tried
  const left = await blocks.rows()
  const counts = await blocks.counts()
  const free = isRecord(expect) && ('freeTail' in expect || 'freeTailSet' in expect) ? await blocks.takeAll() : []
  const ordinalOf = (address: Address) => Number(Address.distance(Prefix.first(prefix), address))
  const ordinals = (addresses: readonly Address[]) => addresses.map(ordinalOf)
  const addresses = left.map(({ address }) => address)
  const rowsLeft = new Set(left.map(({ row }) => row.owner)).size
  return answerKeys(expect, {
    empty: () => left.every(({ row }) => handleOf(row.uid)?.toLowerCase() === RESERVED_HANDLE),
    inUse: (asked) => inAskedOrder(asked, addresses.map(Address.format)),
    free: () => countOrText(counts.free),
    reservedCount: () => countOrText(counts.reserved),
    left: (asked) => inAskedOrder(asked, ordinals(addresses)),
    leftCount: () => addresses.length,
    attributeRows: () => rowsLeft,
    freeTail: (asked) => ordinals(tail(free, asked)),
    freeTailSet: (asked) => inAskedOrder(asked, ordinals(tail(free, asked))),
    // what would be written is compared to what was read
    changed: () =>
      op.gc !== undefined &&
      (rowsLeft !== allocations.length + op.gc.spuriousAttributeRows || left.length !== placed.length),
    ...done.answers,
  })
}

/** A row of a block: the name of its owner is its place in the list. */
function rowOf(
  { seq = 0, releasedSecondsAgo }: Row,
  index: number,
  uid: string,
  cooldownSeconds: number,
): IPBlock['spec']['rows'][string] {
  const owner = { owner: `row-${index}`, uid, sequence: seq }
  return releasedSecondsAgo === undefined ? owner : { ...owner, ...released(releasedSecondsAgo, cooldownSeconds) }
}

interface Handles {
  readonly prefix: Prefix
  readonly rows: readonly Row[]
  readonly uidOf: (row: { readonly handle?: string | undefined }) => string
  readonly handleOf: (uid: string) => string | undefined
}

/** As many of the last ones as are asked for. */
function tail<T>(list: readonly T[], asked: unknown): T[] {
  return Array.isArray(asked) && asked.length > 0 ? list.slice(-asked.length) : []
}

/** What the parts of an op, one after the other, have led to. */
async function opAnswers(op: Op, blocks: StoredBlocks, { prefix, rows, uidOf, handleOf }: Handles) {
  const problems: string[] = []
  const answers: { [key: string]: Answers[string] } = {}
  const held = async () => (await blocks.rows()).filter(({ row }) => row.state === undefined)
  const before = await held()
  if (op.byHandle !== undefined) {
    const uid = uidOf({ handle: op.byHandle })
    const found = before.filter(({ row }) => row.uid === uid).map(({ address }) => Address.format(address))
    answers.ips = (asked) => inAskedOrder(asked, found)
  }
  if (op.attributesOf !== undefined) {
    const address = Address.parse(op.attributesOf)
    const owner = before.find((one) => Address.equals(one.address, address))?.row.owner
    const row = owner === undefined ? undefined : rows[Number(owner.slice('row-'.length))]
    if (row === undefined) problems.push(`nobody holds ${op.attributesOf}`)
    for (const key of ['handle', 'activeOwner', 'alternateOwner'] as const) answers[key] = () => row?.[key] ?? null
  }
  if (op.release !== undefined) {
    // of several requests for one address the last one counts
    const requests = new Map(op.release.map((request) => [request.ip, request]))
    const skipped: string[] = []
    for (const { ip, handle, seq: sequence } of requests.values()) {
      const address = Address.parse(ip)
      const isThere = (one: { readonly address: Address }) => Address.equals(one.address, address)
      const holder = before.find(isThere)?.row.uid
      const uid = handle === undefined ? holder : uidOf({ handle })
      if (uid !== undefined) await blocks.release(uid, { address, sequence })
      if (!Prefix.contains(prefix, address)) problems.push(`${ip} is not of this block`)
      else if (holder === undefined) skipped.push(ip)
      else if ((await held()).some(isThere)) problems.push(`${ip} stays with ${handleOf(holder)}`)
    }
    const after = await held()
    const countByHandle: Record<string, number> = {}
    for (const { address, row } of before) {
      if (after.some((one) => Address.equals(one.address, address))) continue
      const handle = handleOf(row.uid)
      if (handle !== undefined) countByHandle[handle] = (countByHandle[handle] ?? 0) + 1
    }
    const isDone = problems.length === 0
    answers.skipped = (asked) => (isDone ? inAskedOrder(asked, skipped) : null)
    answers.countByHandle = () => (isDone ? countByHandle : null)
  }
  if (op.releaseByHandle !== undefined) {
    const { handle, seq: sequence } = op.releaseByHandle
    await blocks.release(uidOf({ handle }), { sequence })
    const count = before.length - (await held()).length
    answers.released = () => count
  }
  answers.error = (asked) => problems.length > 0 && (asked === true || problems.join('; '))
  return { answers, isFailed: problems.length > 0 }
}

/**
 * The prefixes of a list of reservations: each a CIDR or an address, with blanks around it. What is
 * neither is passed over.
 */
function reservations(entries: readonly string[]): Prefix[] {
  return entries.flatMap((entry) => {
    const text = entry.trim()
    const prefix = Prefix.safeParse(text)
    if (prefix.ok) return [Prefix.masked(prefix.value)]
    const address = Address.safeParse(text)
    return address.ok ? [Prefix.of(address.value, Address.bitsOf(address.value.family))] : []
  })
}

/** A pool whose blocks are full: what is free of it lies in none of them. */
async function spaceAnswers(input: SpaceInput, expect: unknown): Promise<Answer> {
  const prefix = Prefix.parse(input.pool)
  const blocks = input.blocks.map((text) => Prefix.parse(text))
  const bits = Address.bitsOf(prefix.address.family)
  const blockLength = Math.max(prefix.length, bits - 8, ...blocks.map(({ length }) => length))
  const pieces = blocks.reduce((sum, block) => sum + Prefix.subnetCount(block, blockLength), 0n)
  if (pieces > MOST_BLOCKS) return unsupported(`more than ${MOST_BLOCKS} blocks`)
  const reserved = RangeSet.fromPrefixes(reservations(input.reservations))
  const stored = await StoredBlocks.create({ prefix, blockLength, reserved })
  const full = { owner: 'full', uid: 'full', sequence: 1, count: 2 ** (bits - blockLength) }
  for (const piece of RangeSet.prefixes(RangeSet.fromPrefixes(blocks)).flatMap((block) => [
    ...Prefix.split(block, Math.max(block.length, blockLength)),
  ])) {
    await stored.add(piece, { 0: full })
  }
  const { total, reserved: kept, free } = await stored.counts()
  return answerKeys(expect, {
    capacity: () => exactCount(total),
    reserved: () => exactCount(kept),
    availableOutsideBlocks: () => exactCount(free),
  })
}

function filterAnswers(filter: readonly string[]): Answers {
  const set = RangeSet.fromPrefixes(reservations(filter))
  const hasAddress = (text: string) => RangeSet.contains(set, Address.parse(text))
  const hasAll = (text: string) => RangeSet.contains(set, Prefix.parse(text))
  return {
    ipsMatched: (asked) => those(asked, hasAddress),
    ipsNotMatched: (asked) => those(asked, (text) => !hasAddress(text)),
    cidrsWhollyMatched: (asked) => those(asked, hasAll),
    cidrsNotWhollyMatched: (asked) => those(asked, (text) => !hasAll(text)),
  }
}

/** Those of some CIDRs that lie in no other one, once each. */
function uncovered(texts: readonly string[]): string[] {
  const map = new PrefixMap<true>()
  for (const text of texts) map.set(Prefix.masked(Prefix.parse(text)), true)
  const kept = [...map].map(([prefix]) => prefix).filter((prefix) => map.covering(prefix).length === 1)
  return kept.map(Prefix.format)
}

function coverAnswers(cidrs: readonly string[]): Answers {
  const result = uncovered(cidrs)
  return {
    // no list is an empty one to Go
    result: (asked) => (asked === null && result.length === 0 ? null : inAskedOrder(asked, result)),
    idempotent: () => uncovered(result).join() === result.join(),
  }
}

/** So many blocks are taken one by one. */
const MOST_BLOCKS = 4096n

/** The blocks of a pool, each given to a node of its own. */
async function randomOrder(prefix: Prefix, blockLength: number, seed: string, expect: unknown): Promise<Answer> {
  if (blockLength < prefix.length) return unsupported('a block that is larger than its pool')
  if (Prefix.subnetCount(prefix, blockLength) > MOST_BLOCKS) return unsupported(`more than ${MOST_BLOCKS} blocks`)
  const order =
    Address.bitsOf(prefix.address.family) - blockLength > BLOCK_BITS
      ? await largeBlocks(prefix, blockLength)
      : await storedOrder(prefix, blockLength, seed)
  return answerKeys(expect, {
    blocks: () => order.length,
    distinct: () => new Set(order).size === order.length,
    allInsidePool: () => order.every((block) => Prefix.contains(prefix, Prefix.parse(block))),
  })
}

/** Blocks that are larger than ours can be: as prefixes of a pool, each with an owner of its own. */
async function largeBlocks(prefix: Prefix, unitLength: number): Promise<readonly string[]> {
  const blockLength = Math.max(prefix.length, unitLength - BLOCK_BITS)
  const stored = await StoredBlocks.create({ prefix, blockLength, unitLength })
  const given = await stored.takeAll()
  return given.map((address) => Prefix.format(Prefix.of(address, unitLength)))
}

async function storedOrder(prefix: Prefix, blockLength: number, seed: string): Promise<readonly string[]> {
  const stored = await StoredBlocks.create({ prefix, blockLength, isForNodes: true })
  for (let n = 0; ; n++) {
    const name = `${seed.toLowerCase()}-${n}`
    const address = await stored.allocate({ owner: { uid: name, name }, node: { name } })
    if (address === undefined) break
  }
  return (await stored.blocks()).map(({ spec }) => spec.cidr)
}
