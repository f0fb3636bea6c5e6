import { Address, type Family, Prefix, Range } from 'ipam-kit/cidr'
import { Service } from 'ipam-kit/crd/core'
import { IPAddress, ServiceCIDR } from 'ipam-kit/crd/networking'
import { fail, isIpamError, unwrap } from 'ipam-kit/errors'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import * as z from 'zod'
import {
  type Answer,
  type Answers,
  answered,
  answerKeys,
  type GivenCase,
  isRecord,
  refusedWith,
  unsupported,
} from '../answer.js'
import { readInput } from '../read-input.js'
import { type Attempt, bandOf, RangeRefused, ServicePool, usableOf, walkAround } from '../service-pool.js'
import {
  addressesOf,
  givenIn,
  type PoolState,
  type Run,
  runSteps,
  StepFailed,
  stateOf,
  UnknownWord,
} from '../service-steps.js'

const texts = z.array(z.string())

const oneSchema = z.strictObject({
  cidr: z.string(),
  /** Where the size of a range stops, as upstream's integer does. */
  cap: z.string().optional(),
  allocate: texts.optional(),
  dryRun: texts.optional(),
  steps: texts.optional(),
})
const cycleSchema = z.strictObject({
  cidr: z.string(),
  release: z.string(),
  outOfRange: texts,
  alreadyAllocated: z.string(),
  sequence: texts,
})
const dualSchema = z.strictObject({ v4: z.string(), v6: z.string(), steps: texts })
const multiSchema = z.strictObject({
  family: z.literal(['IPv4', 'IPv6']).optional(),
  serviceCIDRs: z.array(z.union([z.string(), texts])),
  storeFailsWith: z.string().optional(),
  steps: texts,
})
const offsetSchema = z.strictObject({ address: z.string(), offset: z.union([z.int(), z.string().regex(/^\d+$/)]) })
const walkSchema = z.strictObject({ first: z.string(), last: z.string(), offset: z.int() })
const topSchema = z.strictObject({ prefix: z.string(), prefixes: texts })

const inputSchema = z.union([oneSchema, cycleSchema, dualSchema, multiSchema, offsetSchema, walkSchema, topSchema])

/** Upstream's bitmap has the first 65,536 addresses of an IPv6 range at most. */
const BITMAP_LENGTH = 112

/** The addresses of Services: upstream's package ipallocator. */
export async function nodeipamServiceIpallocator({ input, expect }: GivenCase): Promise<Answer> {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const asked = known.data
  try {
    if ('sequence' in asked) return fullCycle(asked, expect)
    if ('serviceCIDRs' in asked) return await ofMany(asked, expect)
    if ('cidr' in asked) return ofOne(asked, expect)
    if ('v4' in asked) return ofBoth(asked, expect)
    if ('first' in asked) return walk(asked, expect)
    if ('prefixes' in asked) return topLevel(asked, expect)
    const address = Address.add(Address.parse(asked.address), BigInt(asked.offset))
    return answerKeys(expect, { address: () => Address.format(address), error: () => false })
  } catch (error) {
    if (error instanceof UnknownWord) return unsupported(error.message)
    if (error instanceof RangeRefused) return refusedWith(expect, error.message)
    if (error instanceof StepFailed) return answered({ stepFailed: error.message })
    if (!isIpamError(error)) throw error
    return refusedWith(expect, error.message)
  }
}

function ofOne(input: z.output<typeof oneSchema>, expect: unknown): Answer {
  const prefix = Prefix.parse(input.cidr)
  const cap = input.cap === undefined ? undefined : numberIn(input.cap)
  const network = cap === undefined ? countedOf(prefix) : prefix
  const usable = usableOf(network)
  // a size alone is asked for: of a range that may be wider than any that gives addresses
  const pool = new ServicePool(cap === undefined ? [network] : [], { of: 'one' })
  const scene = { pools: new Map([['', pool]]), ranges: [prefix], named: new Map() }
  for (const address of input.allocate ?? []) pool.allocate(Address.parse(address))
  for (const text of input.dryRun ?? []) dryRun(text, (words) => addressesOf(words, scene, pool), pool)
  const run = input.steps && runSteps(input.steps, scene)
  const measured = run?.snapshots.restored ?? scene.pools.get([...(run?.measured ?? '')][0] ?? '') ?? pool
  return answerKeys(expect, {
    bandOffset: () => bandOf(network),
    usable: (asked) => countAs(asked, cap !== undefined && usable > cap ? cap : usable),
    address: () => Address.format(Prefix.last(prefix)),
    cidr: () => Prefix.format(prefix),
    forEach: () => pool.inUse.map(Address.format),
    ...(run === undefined ? { allocateNext: () => textOf(pool.allocateNext()) } : {}),
    ...stateAnswers(stateOf(measured)),
    ...(run === undefined ? {} : runAnswers(run)),
    ...metricAnswers(measured, expect),
    ...(run?.snapshots.taken === undefined ? {} : snapshotAnswers(run.snapshots)),
    error: () => false,
  })
}

/** What a bitmap has of a range. */
function countedOf(prefix: Prefix): Prefix {
  const isWide = prefix.address.family === 6 && prefix.length < BITMAP_LENGTH
  return isWide ? Prefix.of(Prefix.first(prefix), BITMAP_LENGTH) : prefix
}

/** `2^64-1`, `2^16` or digits. */
function numberIn(text: string): bigint {
  const [, base, exponent, less] = /^(\d+)(?:\^(\d+))?(?:-(\d+))?$/.exec(text) ?? []
  if (base === undefined) throw new UnknownWord(`number: ${text}`)
  return BigInt(base) ** BigInt(exponent ?? 1) - BigInt(less ?? 0)
}

function dryRun(text: string, addresses: (words: string) => readonly Address[], { dryRun: dry }: ServicePool): void {
  const [verb = '', words = ''] = /^(allocate|release) (.+)$/.exec(text)?.slice(1) ?? [text]
  if (text === 'allocateNext') dry.allocateNext()
  else if (verb === 'allocate' || verb === 'release') for (const address of addresses(words)) dry[verb](address)
  else throw new UnknownWord(`dry run: ${text}`)
}

function fullCycle(input: z.output<typeof cycleSchema>, expect: unknown): Answer {
  const prefix = Prefix.parse(input.cidr)
  const pool = new ServicePool([countedOf(prefix)], { of: 'one' })
  const named = new Map([
    ['R', [Address.parse(input.release)]],
    ['outOfRange', input.outOfRange.map((text) => Address.parse(text))],
    ['alreadyAllocated', [Address.parse(input.alreadyAllocated)]],
  ])
  const { free } = pool
  const run = runSteps(input.sequence, { pools: new Map([['', pool]]), ranges: [prefix], named })
  const drained = run.results.find(({ verb }) => verb === 'drain')
  return answerKeys(expect, {
    free: (asked) => countAs(asked, free),
    usedAfterDrain: (asked) => (drained === undefined ? null : countAs(asked, drained.after.used)),
    error: () => false,
  })
}

function ofBoth(input: z.output<typeof dualSchema>, expect: unknown): Answer {
  const ranges = [Prefix.parse(input.v4), Prefix.parse(input.v6)]
  const names = ['v4', 'v6']
  const pools = new Map(
    names.map((name, i) => [name, new ServicePool(ranges.slice(i, i + 1).map(countedOf), { of: 'one' })]),
  )
  const { results } = runSteps(input.steps, { pools, ranges, named: new Map() })
  const statesOf = (name: string) => results.filter(({ pool }) => pool === name).map(({ after }) => after)
  const answersOf = (name: string) => (asked: unknown) => {
    const states = statesOf(name)
    return Array.isArray(asked) ? states.map((state, i) => stateIn(state, asked[i])) : stateIn(states.at(-1), asked)
  }
  return answerKeys(expect, { ...Object.fromEntries(names.map((name) => [name, answersOf(name)])), error: () => false })
}

/** What of a state is asked for. */
function stateIn(state: PoolState | undefined, asked: unknown): unknown {
  if (state === undefined) return null
  const answer = answerKeys(asked ?? {}, stateAnswers(state))
  if (answer.kind !== 'answered') throw new UnknownWord(answer.kind === 'unsupported' ? answer.what : 'a state')
  return answer.got
}

async function ofMany(input: z.output<typeof multiSchema>, expect: unknown): Promise<Answer> {
  const named = input.serviceCIDRs.flat().map(rangeIn)
  const family: Family =
    input.family === undefined ? (named[0]?.prefix.address.family ?? 4) : input.family === 'IPv4' ? 4 : 6
  const ranges = named.filter(({ prefix }) => prefix.address.family === family)
  const empty = new ServicePool([], { of: 'many' }).allocateNext()
  const first = ranges.filter(({ isLater }) => !isLater)
  const prefixesOf = (isReady: boolean) => first.filter((each) => each.isReady === isReady).map(({ prefix }) => prefix)
  if (input.storeFailsWith !== undefined) {
    return againstStore(prefixesOf(true), input.steps, input.storeFailsWith, expect)
  }
  const pool = new ServicePool(prefixesOf(true), { of: 'many', notReady: prefixesOf(false) })
  const prefixes = ranges.map(({ prefix }) => prefix)
  const run = runSteps(input.steps, {
    pools: new Map([['', pool]]),
    ranges: prefixes,
    named: new Map(),
  })
  const state = stateOf(pool)
  return answerKeys(expect, {
    emptyAtFirst: (asked) => (typeof empty === 'string' ? 'allocateNext fails' : `not ${asked}`),
    ...stateAnswers(state),
    ...runAnswers(run),
    total: () => state.allocated,
    ...metricAnswers(pool, expect),
    error: () => false,
  })
}

/** `10.0.0.0/28`, `then 10.0.0.0/28` for one that a step adds, `10.0.0.0/28 (not ready)`. */
function rangeIn(text: string): { readonly prefix: Prefix; readonly isLater: boolean; readonly isReady: boolean } {
  const [, then, cidr, notReady] = /^(then )?(\S+\/\d+)( \(not ready\))?$/.exec(text) ?? []
  if (cidr === undefined) throw new UnknownWord(`range: ${text}`)
  return { prefix: Prefix.parse(cidr), isLater: then !== undefined, isReady: notReady === undefined }
}

/** A Service for each step, and a store that refuses every IPAddress. */
async function againstStore(
  prefixes: readonly Prefix[],
  steps: readonly string[],
  problem: string,
  expect: unknown,
): Promise<Answer> {
  let calls = 0
  const memory = memoryStore({ now: () => 0, kinds: [Service.info, IPAddress.info, ServiceCIDR.info] })
  const store = storeOver(memory, {
    create: async () => {
      calls++
      return { ok: false, failure: fail('STORE_IO', { operation: 'create', problem }).failure }
    },
  })
  for (const [nth, prefix] of prefixes.entries()) {
    const spec = { cidrs: [Prefix.format(Prefix.masked(prefix))] }
    await memory.create({ ...ServiceCIDR.info, metadata: { name: `range-${nth}` }, spec })
  }
  for (const [nth, step] of steps.entries()) {
    if (step !== 'allocateNext') return unsupported(`step against a store: ${step}`)
    await memory.create({ ...Service.info, metadata: { namespace: 'default', name: `service-${nth}` }, spec: {} })
  }
  const { failures } = await runUntilQuiet(store, [serviceIPs({ seed: 1 })], { now: () => 0 })
  const [failed] = failures.map(({ failure }) => failure)
  const error = failed?.code === 'STORE_IO' ? failed.context.problem : failed?.message
  const { items } = unwrap(await memory.list(IPAddress.info))
  return answerKeys(expect, { error: () => error ?? false, storeCalls: () => calls, used: () => items.length })
}

/** All addresses of a range from an offset on, and then from the first one, each once. */
function walk({ first, last, offset }: z.output<typeof walkSchema>, expect: unknown): Answer {
  const { addresses, isEnded } = walkAround(Range.of(Address.parse(first), Address.parse(last)), BigInt(offset))
  return answerKeys(expect, {
    sequence: () => addresses.map(Address.format),
    count: () => addresses.length,
    thenStops: () => isEnded,
    error: () => false,
  })
}

function topLevel({ prefix: text, prefixes }: z.output<typeof topSchema>, expect: unknown): Answer {
  const prefix = Prefix.parse(text)
  const others = prefixes.map((other) => Prefix.parse(other)).filter((other) => !Prefix.equals(other, prefix))
  return answerKeys(expect, { notContained: () => !others.some((other) => Prefix.contains(other, prefix)) })
}

function stateAnswers({ free, used, allocated, errors, inUse }: PoolState): Answers {
  return {
    free: (asked) => countAs(asked, free),
    freeAtEnd: (asked) => countAs(asked, free),
    used: (asked) => countAs(asked, used),
    usedAtEnd: (asked) => countAs(asked, used),
    allocated: () => allocated,
    errors: () => errors,
    allocatedFrom: () => edgeOf(inUse, 0),
    allocatedTo: () => edgeOf(inUse, -1),
    addresses: () => inUse.map(Address.format),
  }
}

/** The first or the last address in use, where all between them are. */
function edgeOf(inUse: readonly Address[], at: 0 | -1): string | null {
  const [first, last] = [inUse[0], inUse.at(-1)]
  if (first === undefined || last === undefined) return null
  const isWhole = Range.size(Range.of(first, last)) === BigInt(inUse.length)
  return isWhole ? Address.format(at === 0 ? first : last) : null
}

const ORDINALS = ['First', 'Second', 'Third', 'Fourth']

/** What can be asked of the steps one by one. */
function runAnswers({ results }: Run): Answers {
  const of = (verb: string) => results.filter((result) => result.verb === verb)
  const drains = of('drain')
  const attempts = results.flatMap((result) => (result.verb === 'find' ? [] : result.attempts))
  const given = givenIn(attempts)
  const dynamic = givenIn([...of('allocateNext'), ...drains].flatMap((result) => result.attempts))
  const stateAfter =
    (verb: string): Answers[string] =>
    (asked) =>
      stateIn(of(verb)[0]?.after, asked)
  const inside = (addresses: readonly Address[]) => (asked: unknown) => {
    const prefix = Prefix.parse(String(asked))
    const outside = addresses.filter((address) => !Prefix.contains(prefix, address)).map(Address.format)
    return addresses.length > 0 && outside.length === 0 ? asked : { outside }
  }
  return {
    ok: () => attempts.length > 0 && given.length === attempts.length,
    inside: inside(given),
    allInside: inside(given),
    allocateNextInside: inside(dynamic),
    lastAllocateNext: () => textOf(of('allocateNext').at(-1)?.attempts.at(-1)),
    secondAllocate: () => onlyOne(of('allocate').at(-1)?.attempts),
    furtherAllocateNext: () => onlyOne(of('allocateNext').at(-1)?.attempts),
    afterDynamic: stateAfter('allocateNext'),
    afterStatic: (asked) => stateIn(of('allocate').at(-1)?.after, asked),
    find: () =>
      of('find')[0]?.attempts[0] === 'ErrNotInRange' ? 'ErrMismatchedNetwork' : textOf(of('find')[0]?.attempts[0]),
    count: () => given.length,
    thenFull: () => drains.length > 0 && drains.at(-1)?.attempts.at(-1) === 'ErrFull',
    ...Object.fromEntries(
      ORDINALS.map((name, i) => [
        `countAfter${name}`,
        (asked: unknown) => countAs(asked, drains[i]?.after.used ?? -1n),
      ]),
    ),
    ...Object.fromEntries(ORDINALS.map((name, i) => [name.toLowerCase(), () => okOf(of('allocate')[i]?.attempts)])),
  }
}

function okOf(attempts: readonly Attempt[] | undefined): string | null {
  if (attempts === undefined) return null
  return attempts.every((attempt) => typeof attempt !== 'string') ? 'ok' : 'error'
}

/** The one result that all attempts had; else all of them. */
function onlyOne(attempts: readonly Attempt[] | undefined): unknown {
  const all = [...new Set((attempts ?? []).map(textOf))]
  return all.length === 1 ? all[0] : all
}

/** Counters with labels, such as `errors{10.0.0.0/24,static}` or `allocations{scope=dynamic}`. */
function metricAnswers(pool: ServicePool, expect: unknown): Answers {
  const answers: { [key: string]: Answers[string] } = {}
  for (const key of isRecord(expect) ? Object.keys(expect) : []) {
    const [, name, labels] = /^(allocations|errors)\{(.*)\}$/.exec(key) ?? []
    const found = labels?.split(',').map((label) => /^(?:scope=)?(static|dynamic)$|^(?:cidr=)?(\S+\/\d+)$/.exec(label))
    if (found === undefined || found.includes(null)) continue
    const scope = found.find((label) => label?.[1])?.[1]
    const cidr = found.find((label) => label?.[2])?.[2]
    const prefix = cidr === undefined ? undefined : Prefix.parse(cidr)
    answers[key] = () => pool.count({ isError: name === 'errors', scope, prefix })
  }
  return answers
}

function snapshotAnswers({ taken, mismatch, restored }: Run['snapshots']): Answers {
  const inUse = new Set(restored?.inUse.map(Address.format))
  return {
    snapshotRange: () => taken?.bitmap.range,
    wrongNetwork: () => (mismatch === true ? 'ErrMismatchedNetwork' : null),
    restoredHasAll: () => restored !== undefined && taken?.inUse.every((address) => inUse.has(Address.format(address))),
    freeEqual: () => restored !== undefined && restored.free === taken?.free,
  }
}

function textOf(attempt: Attempt | undefined): string | null {
  if (attempt === undefined) return null
  return typeof attempt === 'string' ? attempt : Address.format(attempt)
}

/** A count as the case writes it: as text, or as the number that it fits into. */
function countAs(asked: unknown, count: bigint): number | string {
  return typeof asked === 'string' || count > BigInt(Number.MAX_SAFE_INTEGER) ? String(count) : Number(count)
}
