import { Bitmap } from 'ipam-kit/allocator'
import { Address, type Family, Prefix, Range } from 'ipam-kit/cidr'
import { describe, type Failure, isIpamError } from 'ipam-kit/errors'
import { runPlan } from 'ipam-kit/run'
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
import { type Attempt, ServicePool } from '../service-pool.js'
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

/** Upstream's bitmap has so many addresses of an IPv6 range at most. */
const BITMAP_CAP = 65_536n

/** The addresses of Services: upstream's package ipallocator, on pools of addresses. */
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
    if (error instanceof StepFailed) return answered({ stepFailed: error.message })
    if (!isIpamError(error)) throw error
    return refusedWith(expect, describe({ code: error.code, context: error.context } as Failure))
  }
}

function ofOne(input: z.output<typeof oneSchema>, expect: unknown): Answer {
  const prefix = Prefix.parse(input.cidr)
  const cap = input.cap === undefined ? undefined : numberIn(input.cap)
  const pool = new ServicePool([prefix], cap === undefined ? BITMAP_CAP : undefined)
  const scene = { pools: new Map([['', pool]]), cap: BITMAP_CAP, ranges: [prefix], named: new Map() }
  for (const address of input.allocate ?? []) pool.allocate(Address.parse(address))
  for (const text of input.dryRun ?? []) dryRun(text, (words) => addressesOf(words, scene, pool), pool)
  const usable = cap !== undefined && pool.usable > cap ? cap : pool.usable
  const run = input.steps && runSteps(input.steps, scene)
  const measured = run?.snapshots.restored ?? scene.pools.get([...(run?.measured ?? '')][0] ?? '') ?? pool
  return answerKeys(expect, {
    bandOffset: () => pool.band,
    usable: (asked) => countAs(asked, usable),
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
  const pool = new ServicePool([prefix], BITMAP_CAP)
  const named = new Map([
    ['R', [Address.parse(input.release)]],
    ['outOfRange', input.outOfRange.map((text) => Address.parse(text))],
    ['alreadyAllocated', [Address.parse(input.alreadyAllocated)]],
  ])
  const { free } = pool
  const run = runSteps(input.sequence, { pools: new Map([['', pool]]), cap: BITMAP_CAP, ranges: [prefix], named })
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
  const pools = new Map(names.map((name, i) => [name, new ServicePool(ranges.slice(i, i + 1), BITMAP_CAP)]))
  const { results } = runSteps(input.steps, { pools, cap: BITMAP_CAP, ranges, named: new Map() })
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
  const empty = new ServicePool([], undefined).allocateNext()
  const ready = ranges.filter(({ isLater, isReady }) => !isLater && isReady)
  const pool = new ServicePool([], undefined)
  pool.prefixes = ready.map(({ prefix }) => prefix)
  if (input.storeFailsWith !== undefined) return againstStore(pool, input.steps, input.storeFailsWith, expect)
  const prefixes = ranges.map(({ prefix }) => prefix)
  const run = runSteps(input.steps, {
    pools: new Map([['', pool]]),
    cap: undefined,
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

/** The object of an address is written as a plan, to a store that refuses everything. */
async function againstStore(
  pool: ServicePool,
  steps: readonly string[],
  problem: string,
  expect: unknown,
): Promise<Answer> {
  let calls = 0
  const store = storeOver(memoryStore({ now: () => 0 }), {
    create: async () => {
      calls++
      return { ok: false, failure: { code: 'STORE_IO', context: { operation: 'create', problem } } }
    },
  })
  let error: unknown = false
  for (const step of steps) {
    if (step !== 'allocateNext') return unsupported(`step against a store: ${step}`)
    const attempt = pool.allocateNext()
    if (typeof attempt === 'string') return unsupported('a store of a full range')
    const object = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IPAddress',
      metadata: { name: Address.format(attempt) },
    }
    const outcome = { kind: 'allocated', message: 'an address is free' }
    const ran = await runPlan({ outcome, effects: [{ kind: 'create', object, why: outcome.message }] }, store)
    if (ran.kind === 'done') continue
    pool.release(attempt)
    error = ran.failure.code === 'STORE_IO' ? ran.failure.context.problem : describe(ran.failure)
  }
  return answerKeys(expect, { error: () => error, storeCalls: () => calls, ...stateAnswers(stateOf(pool)) })
}

/** All addresses of a range from an offset on, and then from the first one, each once: a bitmap that fills up around a cursor. */
function walk({ first, last, offset }: z.output<typeof walkSchema>, expect: unknown): Answer {
  const range = Range.of(Address.parse(first), Address.parse(last))
  const bitmap = new Bitmap(Number(Range.size(range)))
  const indices: number[] = []
  let next = bitmap.nextFreeAround(offset)
  while (next >= 0 && indices.length < bitmap.size) {
    bitmap.take(next)
    indices.push(next)
    next = bitmap.nextFreeAround(next)
  }
  return answerKeys(expect, {
    sequence: () => indices.map((index) => Address.format(Address.add(range.first, index))),
    count: () => indices.length,
    thenStops: () => next < 0,
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
    snapshotRange: () => taken && Prefix.format(taken.range),
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
