import { PrefixAllocator } from 'ipam-kit/allocator'
import { Address, Prefix, PrefixMap, RangeSet } from 'ipam-kit/cidr'
import * as z from 'zod'
import { AddressBlock, type BlockRelease, type BlockRow } from '../address-block.js'
import { type Answer, type Answers, answerKeys, type GivenCase, isRecord, those, unsupported } from '../answer.js'
import { inAskedOrder } from '../asked-order.js'
import { countOrText } from '../count.js'
import { exactCount } from '../exact-count.js'
import { readInput } from '../read-input.js'

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
type Row = BlockRow & Pick<z.output<typeof rowSchema>, 'activeOwner' | 'alternateOwner'>

/** The blocks of Calico, each on a pool; and the arithmetic of its reservations and blocks, on sets. */
export function whereaboutsCalicoBlocks({ input, expect }: GivenCase): Answer {
  const op = isRecord(input) && isRecord(input.op) ? Object.keys(input.op) : []
  if (op.length > 0 && !op.some((key) => key in opSchema.shape)) return unsupported(`op: ${op.join()}`)
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const asked = known.data
  if ('block' in asked) return answerKeys(expect, blockAnswers(asked))
  if ('seed' in asked) return randomOrder(Prefix.parse(asked.pool), asked.blockSize, asked.seed, expect)
  if ('pool' in asked) return answerKeys(expect, spaceAnswers(asked))
  if ('reserved' in asked) {
    return answerKeys(expect, { cidrs: () => reservations(asked.reserved).map(Prefix.format) })
  }
  if ('filter' in asked) return answerKeys(expect, filterAnswers(asked.filter))
  return answerKeys(expect, coverAnswers(asked.cidrs ?? []))
}

/** The handle under which Calico keeps back what a node with Windows needs: nobody uses those addresses. */
const RESERVED_HANDLE = 'windows-reserved-ipam-handle'

function blockAnswers({ block: text, allocations, op }: BlockInput): Answers {
  const prefix = Prefix.parse(text)
  const rows = allocations.map(
    ({ ordinals, seq, ...row }): Row => ({
      ...row,
      addresses: ordinals.map((ordinal) => Prefix.addressAt(prefix, ordinal)),
      sequence: seq,
    }),
  )
  const reserved = RangeSet.fromPrefixes(reservations(op.reserved ?? []))
  const coolDownSeconds = op.gc?.cooldownSeconds ?? op.cooldownSeconds ?? 0
  const block = new AddressBlock<Row>({ prefix, rows, reserved, coolDownSeconds })
  const ordinalOf = (address: Address) => Number(Address.distance(Prefix.first(prefix), address))
  const ordinals = (addresses: readonly Address[]) => addresses.map(ordinalOf)
  const done = opAnswers(op, block, rows)
  return {
    empty: () => block.rows().every(({ handle }) => handle?.toLowerCase() === RESERVED_HANDLE),
    inUse: (asked) => inAskedOrder(asked, block.allocated().map(Address.format)),
    free: () => countOrText(block.counts().free),
    reservedCount: () => countOrText(block.counts().reserved),
    left: (asked) => inAskedOrder(asked, ordinals(block.allocated())),
    leftCount: () => block.allocated().length,
    attributeRows: () => block.rows().length,
    freeTail: (asked) => ordinals(tail(block.freeList(), asked)),
    freeTailSet: (asked) => inAskedOrder(asked, ordinals(tail(block.freeList(), asked))),
    ...done,
  }
}

/** As many of the last ones as are asked for. */
function tail<T>(list: readonly T[], asked: unknown): T[] {
  return Array.isArray(asked) && asked.length > 0 ? list.slice(-asked.length) : []
}

/** What the parts of an op, one after the other, have led to. */
function opAnswers(op: Op, block: AddressBlock<Row>, rows: readonly Row[]): Answers {
  const problems: string[] = []
  const answers: { [key: string]: Answers[string] } = {}
  if (op.byHandle !== undefined) {
    const found = block.addressesOf(op.byHandle).map(Address.format)
    answers.ips = (asked) => inAskedOrder(asked, found)
  }
  if (op.attributesOf !== undefined) {
    const row = block.rowOf(Address.parse(op.attributesOf))
    if (row === undefined) problems.push(`nobody holds ${op.attributesOf}`)
    for (const key of ['handle', 'activeOwner', 'alternateOwner'] as const) answers[key] = () => row?.[key] ?? null
  }
  if (op.release !== undefined) {
    // of several requests for one address the last one counts
    const requests = new Map(
      op.release.map(({ ip, handle, seq }) => [ip, { address: Address.parse(ip), handle, sequence: seq }]),
    )
    const outcome = block.release([...requests.values()])
    if (outcome.kind === 'failed') problems.push(outcome.problem)
    Object.assign(answers, releaseAnswers(outcome))
  }
  if (op.releaseByHandle !== undefined) {
    const released = block.releaseHandle(op.releaseByHandle.handle, op.releaseByHandle.seq)
    answers.released = () => released
  }
  if (op.gc !== undefined) {
    // what would be written is compared to what was read
    const before = [rows.length + op.gc.spuriousAttributeRows, rows.flatMap(({ addresses }) => addresses).length]
    answers.changed = () => block.rows().length !== before[0] || block.allocated().length !== before[1]
  }
  answers.error = (asked) => problems.length > 0 && (asked === true || problems.join('; '))
  return answers
}

function releaseAnswers(outcome: BlockRelease): Answers {
  if (outcome.kind === 'failed') return { skipped: () => null, countByHandle: () => null }
  const skipped = outcome.skipped.map(Address.format)
  return { skipped: (asked) => inAskedOrder(asked, skipped), countByHandle: () => outcome.countByHandle }
}

/** The prefixes of a list of reservations: each a CIDR or an address, with blanks around it. What is neither is passed over. */
function reservations(entries: readonly string[]): Prefix[] {
  return entries.flatMap((entry) => {
    const text = entry.trim()
    const prefix = Prefix.safeParse(text)
    if (prefix.ok) return [Prefix.masked(prefix.value)]
    const address = Address.safeParse(text)
    return address.ok ? [Prefix.of(address.value, Address.bitsOf(address.value.family))] : []
  })
}

function spaceAnswers(input: SpaceInput): Answers {
  const pool = RangeSet.fromPrefixes([Prefix.parse(input.pool)])
  const reserved = RangeSet.fromPrefixes(reservations(input.reservations))
  const blocks = RangeSet.fromPrefixes(input.blocks.map((text) => Prefix.parse(text)))
  const sizes = {
    capacity: pool,
    reserved: RangeSet.intersect(pool, reserved),
    availableOutsideBlocks: RangeSet.subtract(pool, RangeSet.union(reserved, blocks)),
  }
  return Object.fromEntries(Object.entries(sizes).map(([key, set]) => [key, () => exactCount(RangeSet.size(set))]))
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

/** The blocks of a pool, each taken at a random place of what is left. */
function randomOrder(pool: Prefix, blockSize: number, seed: string, expect: unknown): Answer {
  if (Prefix.subnetCount(pool, blockSize) > MOST_BLOCKS) return unsupported(`more than ${MOST_BLOCKS} blocks`)
  const allocator = new PrefixAllocator({ parents: RangeSet.fromPrefixes([pool]), childLength: blockSize })
  const start = [...seed].reduce((sum, letter) => (Math.imul(sum, 31) + letter.charCodeAt(0)) >>> 0, 0)
  const order: Prefix[] = []
  for (;;) {
    const address = RangeSet.random(RangeSet.fromPrefixes(allocator.freePrefixes()), start + order.length)
    if (address === undefined) break
    const outcome = allocator.allocate({
      owner: { uid: `block-${order.length}` },
      prefix: Prefix.of(address, blockSize),
    })
    if (outcome.kind !== 'allocated') throw new Error(`what is free was answered ${outcome.kind}`)
    order.push(outcome.prefix)
  }
  return answerKeys(expect, {
    blocks: () => order.length,
    distinct: () => new Set(order.map(Prefix.format)).size === order.length,
    allInsidePool: () => order.every((block) => Prefix.contains(pool, block)),
  })
}
