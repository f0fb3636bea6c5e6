import { confusableAddresses } from 'ipam-kit/allocator'
import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { isIpamError } from 'ipam-kit/errors'
import { memoryStore } from 'ipam-kit/store/memory'
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
import { countOrText } from '../count.js'
import { type Draw, type PoolConfig, type PoolConfigs, parseEntry, ServicePools } from '../metallb-pools.js'
import { readInput } from '../read-input.js'
import { readRepeats } from '../repeats.js'

const texts = z.array(z.string())
/** Equality alone: `team=a,tier=b`. */
const selector = z.string().regex(/^[^=!,\s]+==?[^=!,\s]*(,\s*[^=!,\s]+==?[^=!,\s]*)*$/)
const pool = z.union([
  texts.transform((cidrs): PoolConfig => ({ cidrs })),
  z.strictObject({
    cidrs: texts,
    avoidBuggyIPs: z.boolean().optional(),
    autoAssign: z.boolean().optional(),
    priority: z.int().optional(),
    namespaces: texts.optional(),
    serviceSelectors: z.array(selector).optional(),
  }),
])
const pools = z.record(z.string(), pool)
const familyWord = z.enum(['ipv4', 'ipv6', 'dual', 'dualstack', 'dual-stack', ''])
const family = familyWord.optional()
const one = z.string().transform((text) => [text])
const addresses = z.union([one, texts])
/** Who asks, beside the name of the Service. */
const who = { namespace: z.string().optional(), labels: z.record(z.string(), z.string()).optional() }

/**
 * A Service, an address or what to do, maybe its ports, its sharing key and its backend, and
 * whether it succeeds.
 */
const step = z.strictObject({
  service: z.string(),
  what: addresses.nullish(),
  ports: texts.optional(),
  sharingKey: z.string().optional(),
  backendKey: z.string().optional(),
  /** Not said: whatever comes of it. */
  succeeds: z.boolean().optional(),
  times: z.int().default(1),
})

/**
 * Steps as {@link step} has them. A file writes them as lists, and as a text one that repeats the
 * step before it.
 */
function withSteps(input: unknown): unknown {
  if (!isRecord(input) || !Array.isArray(input.steps)) return input
  const steps: { readonly [key: string]: unknown }[] = []
  for (const given of input.steps as readonly unknown[]) {
    if (given === null) continue
    const before = steps.at(-1)
    const isRepeat = typeof given === 'string' && before !== undefined
    const [repeat] = isRepeat ? readRepeats(['', given], (text) => text === '').slice(1) : []
    if (repeat?.text === '') steps.push({ ...before, times: Number(before?.times) * repeat.times })
    else steps.push(Array.isArray(given) ? stepOf(given) : { step: given })
  }
  return { ...input, steps }
}

function stepOf(list: readonly unknown[]): { readonly [key: string]: unknown } {
  const succeeds = typeof list.at(-1) === 'boolean' ? list.at(-1) : undefined
  const [service, what, ports, sharingKey, backendKey] = succeeds === undefined ? list : list.slice(0, -1)
  const [call] = typeof what === 'string' ? readRepeats([what], (text) => isCall(text) || isAddress(text)) : []
  return {
    service,
    what: call?.text ?? what,
    ports,
    sharingKey,
    backendKey,
    succeeds,
    times: call?.times ?? 1,
  }
}

function isCall(text: string): boolean {
  return text === 'get' || text === 'release'
}

function isAddress(text: string): boolean {
  return Address.safeParse(text).ok
}

const inputSchema = z.union([
  z.strictObject({ cidrs: texts, avoidBuggyIPs: z.boolean().default(false) }),
  z.strictObject({ addresses: texts }),
  z.strictObject({ address: z.string() }),
  z.strictObject({ pools }),
  z.strictObject({ poolNames: texts }),
  z.strictObject({ namespaces: z.array(z.unknown()) }),
  z.strictObject({ namespaceSelectors: z.array(z.unknown()) }),
  z.strictObject({ serviceSelectors: z.array(z.unknown()) }),
  z.strictObject({ pools, assign: addresses, ...who }),
  z.strictObject({ pools, steps: z.array(step), family, ...who }),
  z.strictObject({ pool, steps: z.array(step), family, ...who }),
  z.strictObject({
    pools,
    services: z.int().min(0),
    family,
    pool: z.string().optional(),
    ...who,
  }),
  z.strictObject({ holds: addresses, ask: familyWord }),
  z.strictObject({ before: pools, held: z.record(z.string(), addresses), after: pools }),
  z.strictObject({ priorities: z.record(z.string(), z.int()) }),
])

type Input = z.output<typeof inputSchema>
type With<K extends string> = Extract<Input, { readonly [key in K]: unknown }>
type Step = z.output<typeof step>

/**
 * The pools of MetalLB: what its configuration reads, how many addresses that is, and which of them
 * a Service is given.
 */
export function whereaboutsMetallbPools({ input, expect }: GivenCase): Answer | Promise<Answer> {
  const known = readInput(inputSchema, withSteps(input))
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const asked = known.data
  if ('cidrs' in asked) return counts(asked.cidrs, asked.avoidBuggyIPs, expect)
  if ('addresses' in asked) return parsed({ pool: { cidrs: asked.addresses } }, expect)
  if ('address' in asked) return parsed({ pool: { cidrs: [asked.address] } }, expect)
  if ('poolNames' in asked) return named(asked.poolNames, expect)
  if ('holds' in asked) return holding(asked, expect)
  if ('before' in asked) return reloaded(asked, expect)
  if ('priorities' in asked) return answerKeys(expect, { order: () => orderOf(asked.priorities) })
  if ('steps' in asked) {
    const configs = 'pools' in asked ? asked.pools : { pool: asked.pool }
    return withPools([configs], expect, () => afterSteps(configs, asked))
  }
  if ('assign' in asked) return withPools([asked.pools], expect, () => assigned(asked))
  if ('services' in asked) return withPools([asked.pools], expect, () => drawn(asked))
  if ('pools' in asked) return parsed(asked.pools, expect)
  return answered({ notModelled: Object.keys(asked) })
}

function counts(texts: readonly string[], avoidBuggyIPs: boolean, expect: unknown): Answer {
  const prefixes: Prefix[] = []
  for (const text of texts) {
    const prefix = Prefix.safeParse(text)
    if (!prefix.ok) return refusedWith(expect, `invalid CIDR ${JSON.stringify(text)}`)
    prefixes.push(prefix.value)
  }
  const all = RangeSet.fromPrefixes(prefixes)
  const usable = avoidBuggyIPs ? RangeSet.subtract(all, confusableAddresses(all)) : all
  const count = { 4: 0n, 6: 0n }
  for (const range of RangeSet.ranges(usable)) count[range.first.family] += Range.size(range)
  return answerKeys(expect, {
    total: () => countOrText(count[4] + count[6]),
    ipv4: () => countOrText(count[4]),
    ipv6: () => countOrText(count[6]),
    error: () => false,
  })
}

function parsed(pools: PoolConfigs, expect: unknown): Answer {
  const prefixes = prefixesOf(pools)
  if (typeof prefixes === 'string') return refusedWith(expect, prefixes)
  return answerKeys(expect, {
    cidrs: () => prefixes.map(Prefix.format),
    ok: () => true,
    error: () => false,
  })
}

/** The answer to a question about pools that can be read. */
function withPools(configs: readonly PoolConfigs[], expect: unknown, answers: () => Answers): Answer {
  const problem = configs.map(prefixesOf).find((prefixes) => typeof prefixes === 'string')
  return problem === undefined ? answerKeys(expect, answers()) : refusedWith(expect, problem)
}

/**
 * The prefixes that entries stand for, or what is wrong with them: none at all, one that is no CIDR
 * and no range, or an overlap.
 */
function prefixesOf(pools: PoolConfigs): Prefix[] | string {
  const prefixes: Prefix[] = []
  for (const [name, { cidrs }] of Object.entries(pools)) {
    if (cidrs.length === 0) return `parsing address pool ${name}: pool has no prefixes defined`
    for (const text of cidrs) {
      const entry = parseEntry(text)
      if (!entry.ok) {
        const { problem } = entry.failure.context
        const words = `invalid CIDR ${JSON.stringify(text)} in pool ${JSON.stringify(name)}`
        return `parsing address pool ${name}: ${words}: ${text.includes('-') ? rangeWords(text, problem) : problem}`
      }
      for (const prefix of entry.value) {
        const other = prefixes.find((known) => Prefix.overlaps(known, prefix))
        if (other !== undefined) {
          const [inner, outer] = [prefix, other].map((each) => JSON.stringify(Prefix.format(each)))
          return `CIDR ${inner} in pool ${JSON.stringify(name)} overlaps with already defined CIDR ${outer}`
        }
        prefixes.push(prefix)
      }
    }
  }
  return prefixes
}

/** Upstream's words for what is no range. */
function rangeWords(text: string, problem: string): string {
  const words = `invalid IP range ${JSON.stringify(text)}`
  if (problem !== 'the range ends before it begins') return `${words}: ${problem}`
  const [start, end] = text.split('-').map((address) => JSON.stringify(Address.format(Address.parse(address.trim()))))
  return `${words}: start IP ${start} is after the end IP ${end}`
}

/** Pools are objects: a store has each name once. */
async function named(names: readonly string[], expect: unknown): Promise<Answer> {
  const store = memoryStore({ now: () => 0 })
  for (const name of names) {
    const metadata = { namespace: 'metallb-system', name }
    const created = await store.create({ apiVersion: 'metallb.io/v1beta1', kind: 'IPAddressPool', metadata })
    if (created.ok) continue
    const again = created.failure.code === 'STORE_ALREADY_EXISTS'
    return refusedWith(expect, again ? `duplicate definition of pool ${JSON.stringify(name)}` : created.failure.message)
  }
  return answerKeys(expect, { ok: () => true, error: () => false })
}

function assigned({ pools, assign, namespace, labels }: With<'assign'>): Answers {
  const services = new ServicePools(pools)
  const ok = tried(() => services.assign({ service: 'service', namespace, labels }, readAll(assign)))
  return { ok: () => ok, error: () => !ok, pool: () => services.poolOf('service') ?? null }
}

function afterSteps(pools: PoolConfigs, { steps, family, namespace, labels }: With<'steps'>): Answers {
  const services = new ServicePools(pools)
  const given: Address[] = []
  const all = steps.flatMap((step) => Array<Step>(step.times).fill(step))
  const results = all.map(({ service, what, ports, sharingKey = '', backendKey = '' }) => {
    const use = { service, ports, sharingKey, backendKey, namespace, labels }
    if (what === undefined || what === null || what[0] === 'release') {
      services.release(service)
      return true
    }
    if (what[0] !== 'get') return tried(() => services.assign(use, readAll(what)))
    return tried(() => {
      const got = services.get(use, { families: familiesOf(family) })
      given.push(...(got ?? []))
      return got !== undefined
    })
  })
  const isAsListed = all.every(({ succeeds }, index) => succeeds === undefined || succeeds === results[index])
  return {
    all: () => (isAsListed ? 'as listed' : results),
    // the steps say themselves what comes of them
    validSet: (asked) => (isAsListed ? amongAsked(asked, given) : results),
    okCount: () => results.filter((ok) => ok).length,
  }
}

/** What comes of a call. One whose texts the library refuses comes to nothing. */
function tried(call: () => boolean): boolean {
  try {
    return call()
  } catch (error) {
    if (isIpamError(error)) return false
    throw error
  }
}

function drawn({ pools, services: count, family, pool, namespace, labels }: With<'services'>): Answers {
  const services = new ServicePools(pools)
  const results = Array.from({ length: count }, (_, index) =>
    services.get({ service: `service-${index + 1}`, namespace, labels }, { families: familiesOf(family), pool }),
  )
  const given = results.flatMap((addresses) => addresses ?? [])
  return {
    ...Object.fromEntries(
      ORDINALS.slice(0, count).map((word, index) => [
        word,
        () => results[index]?.map(Address.format).join() ?? 'error',
      ]),
    ),
    okCount: () => results.filter((addresses) => addresses !== undefined).length,
    validSet: (asked) => amongAsked(asked, given),
  }
}

const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth']

/** A pool of what a Service has, and what the Service is given when it asks again. */
function holding({ holds, ask }: With<'holds'>, expect: unknown): Answer {
  const unread = holds.find((text) => !isAddress(text))
  if (unread !== undefined) return refusedWith(expect, `invalid IP ${JSON.stringify(unread)}`)
  const held = readAll(holds)
  const services = new ServicePools({ pool: { cidrs: held.map((address) => Prefix.format(hostPrefix(address))) } })
  services.assign({ service: 'service' }, held)
  const got = services.get({ service: 'service' }, { families: familiesOf(ask) })
  return answerKeys(expect, {
    ok: () => got !== undefined,
    error: () => got === undefined,
    ip: () => got?.map(Address.format).join() ?? null,
  })
}

function reloaded({ before, held, after }: With<'before'>, expect: unknown): Answer {
  return withPools([before, after], expect, () => {
    const services = new ServicePools(before)
    for (const [service, texts] of Object.entries(held)) {
      // what no pool has is not held
      services.assign({ service }, readAll(texts))
    }
    services.configure(after)
    return {
      error: () => false,
      poolOf: (asked) =>
        Object.fromEntries(
          Object.keys(isRecord(asked) ? asked : held).map((service) => [service, services.poolOf(service) ?? null]),
        ),
    }
  })
}

/** In which order pools are used up, of which each has one address. */
function orderOf(priorities: Readonly<Record<string, number>>): (string | undefined)[] {
  const names = Object.keys(priorities)
  const addresses = RangeSet.addresses(RangeSet.parse(['10.0.0.0/8']))
  const pools = Object.fromEntries(
    names.map((name) => {
      const cidrs = [Prefix.format(hostPrefix(addresses.next().value as Address))]
      return [name, { cidrs, priority: priorities[name] }]
    }),
  )
  const services = new ServicePools(pools)
  return names.map((service) => {
    services.get({ service }, { families: [4] })
    return services.poolOf(service)
  })
}

function hostPrefix(address: Address): Prefix {
  return Prefix.of(address, Address.bitsOf(address.family))
}

function familiesOf(family: z.output<typeof familyWord> | undefined): Draw['families'] {
  if (family === undefined || family === '') return [undefined]
  return family === 'ipv4' ? [4] : family === 'ipv6' ? [6] : [4, 6]
}

function readAll(texts: readonly string[]): Address[] {
  return texts.map((text) => Address.parse(text))
}

/** The addresses asked for, if they have all that were given; else those that were given. */
function amongAsked(asked: unknown, given: readonly Address[]): unknown {
  const texts = given.map(Address.format)
  return Array.isArray(asked) && texts.every((text) => asked.includes(text)) ? asked : texts
}
