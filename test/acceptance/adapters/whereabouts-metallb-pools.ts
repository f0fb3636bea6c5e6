import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { describe, type Result } from 'ipam-kit/errors'
import { memoryStore } from 'ipam-kit/store/memory'
import * as z from 'zod'
import {
  type Answer,
  answered,
  answerKeys,
  type BuiltPart,
  type GivenCase,
  isRecord,
  refusedWith,
  unsupported,
} from '../answer.js'
import { countOrText } from '../count.js'

const texts = z.array(z.string())
const pool = z.union([texts, z.strictObject({ cidrs: texts, avoidBuggyIPs: z.boolean().optional() })])

const inputSchema = z.union([
  z.strictObject({ cidrs: texts, avoidBuggyIPs: z.boolean().default(false) }),
  z.strictObject({ addresses: texts }),
  z.strictObject({ address: z.string() }),
  z.strictObject({ pools: z.record(z.string(), pool) }),
  z.strictObject({ poolNames: texts }),
  z.strictObject({ namespaces: texts }),
])

/** The texts of pools and their counts. Assignment, sharing, selection and reload are not built. */
export const poolTexts: BuiltPart = {
  name: 'parsing and counting pools',
  covers: (input) => {
    if (!isRecord(input)) return false
    const keys = Object.keys(input)
    return (keys.length === 1 && keys[0] === 'pools') || keys.some((key) => pooled.has(key))
  },
}

const pooled: ReadonlySet<string> = new Set(['cidrs', 'addresses', 'address', 'poolNames', 'namespaces'])

/** The pools of MetalLB: what its configuration reads, and how many addresses that is. */
export function whereaboutsMetallbPools({ input, expect }: GivenCase): Answer | Promise<Answer> {
  const known = inputSchema.safeParse(input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const asked = known.data
  if ('cidrs' in asked) return counts(asked.cidrs, asked.avoidBuggyIPs, expect)
  if ('addresses' in asked) return parsed([['pool', asked.addresses]], expect)
  if ('address' in asked) return parsed([['pool', [asked.address]]], expect)
  if ('pools' in asked) {
    const pools = Object.entries(asked.pools)
    return parsed(
      pools.map(([name, entries]) => [name, Array.isArray(entries) ? entries : entries.cidrs]),
      expect,
    )
  }
  if ('poolNames' in asked) return named(asked.poolNames, expect)
  return answered({ notModelled: Object.keys(asked) })
}

function counts(texts: readonly string[], avoidBuggyIPs: boolean, expect: unknown): Answer {
  const prefixes: Prefix[] = []
  for (const text of texts) {
    const prefix = Prefix.safeParse(text)
    if (!prefix.ok) return refusedWith(expect, `invalid CIDR ${JSON.stringify(text)}`)
    prefixes.push(prefix.value)
  }
  const count = { 4: 0n, 6: 0n }
  for (const range of RangeSet.ranges(RangeSet.fromPrefixes(prefixes))) {
    count[range.first.family] += Range.size(range) - (avoidBuggyIPs ? buggyIn(range) : 0n)
  }
  return answerKeys(expect, {
    total: () => countOrText(count[4] + count[6]),
    ipv4: () => countOrText(count[4]),
    ipv6: () => countOrText(count[6]),
    error: () => false,
  })
}

/** How many IPv4 addresses of a range end in .0 or .255. */
function buggyIn({ first, last }: Range): bigint {
  if (first.family === 6) return 0n
  const upTo = (value: bigint, octet: bigint) => (value + 256n - octet) / 256n
  const [before, end] = [Address.toBigInt(first) - 1n, Address.toBigInt(last)]
  return [0n, 255n].reduce((sum, octet) => sum + upTo(end, octet) - upTo(before, octet), 0n)
}

/** The prefixes that entries stand for, or what is wrong with them: none at all, one that is no CIDR and no range, or an overlap. */
function parsed(pools: readonly (readonly [name: string, entries: readonly string[]])[], expect: unknown): Answer {
  const prefixes: Prefix[] = []
  for (const [name, entries] of pools) {
    if (entries.length === 0) return refusedWith(expect, `parsing address pool ${name}: pool has no prefixes defined`)
    for (const text of entries) {
      const entry = parseEntry(text)
      if (!entry.ok) {
        const { problem } = entry.failure.context
        const words = `invalid CIDR ${JSON.stringify(text)} in pool ${JSON.stringify(name)}`
        return refusedWith(
          expect,
          `parsing address pool ${name}: ${words}: ${text.includes('-') ? rangeWords(text, problem) : problem}`,
        )
      }
      for (const prefix of entry.value) {
        const other = prefixes.find((known) => Prefix.overlaps(known, prefix))
        if (other !== undefined) {
          const [inner, outer] = [prefix, other].map((each) => JSON.stringify(Prefix.format(each)))
          const words = `CIDR ${inner} in pool ${JSON.stringify(name)} overlaps with already defined CIDR ${outer}`
          return refusedWith(expect, words)
        }
        prefixes.push(prefix)
      }
    }
  }
  return answerKeys(expect, {
    cidrs: () => prefixes.map(Prefix.format),
    ok: () => true,
    error: () => false,
  })
}

/** An entry with a hyphen is a range, any other one a CIDR: a single address is none. */
function parseEntry(text: string): Result<Prefix[], 'MALFORMED_PREFIX' | 'MALFORMED_RANGE'> {
  if (text.includes('-')) {
    const range = Range.safeParse(text, { blanks: 'around-hyphen' })
    return range.ok ? { ok: true, value: Range.toPrefixes(range.value) } : range
  }
  const prefix = Prefix.safeParse(text)
  return prefix.ok ? { ok: true, value: [Prefix.masked(prefix.value)] } : prefix
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
    return refusedWith(
      expect,
      again ? `duplicate definition of pool ${JSON.stringify(name)}` : describe(created.failure),
    )
  }
  return answerKeys(expect, { ok: () => true, error: () => false })
}
