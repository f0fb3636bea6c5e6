import * as Prefix from '../../../cidr/nouns/prefix.js'
import type { EventCause, Plan } from '../../../plan/index.js'
import type { RangePool } from '../config/range-pool.js'
import { type BlockNetworkContext, KEYS, usersOf } from './context.js'
import type { NetworkDefinition } from './definition.js'
import type { BlockNetworkEventReason, NetworkDefinitionOutcome } from './outcome.js'
import { refText } from './plan-pool.js'
import { isSame } from './wanted-pool.js'

type Cause = EventCause<BlockNetworkEventReason> & { readonly kind: NetworkDefinitionOutcome['kind'] }

/** The plan for a definition: it reports what its pools cannot do. O(definitions with pools). */
export function planDefinition(name: string, context: BlockNetworkContext): Plan<NetworkDefinitionOutcome> | undefined {
  const { cache, sent } = context
  const facts = cache.definitions.get(name)
  if (facts === undefined) return undefined
  const key = KEYS.format('NetworkAttachmentDefinition', name)
  const about = `NetworkAttachmentDefinition ${name}`
  if (facts.kind === 'ignored') {
    sent.forget(key)
    return { outcome: { kind: 'ignored', message: `${about} is not of the type ipam-kit` }, effects: [] }
  }
  const causes = facts.kind === 'invalid' ? [invalid(about, facts.problem)] : causesOf(facts, context)
  const effects = sent.newEvents(key, facts.object, causes)
  const [worst] = causes
  if (worst !== undefined) return { outcome: { kind: worst.kind, message: worst.message }, effects }
  return { outcome: { kind: 'served', message: `${about} has its pools` }, effects }
}

function invalid(about: string, problem: string): Cause {
  return { kind: 'invalid', reason: 'InvalidNetwork', message: `${about} gives no addresses: ${problem}` }
}

function causesOf(facts: NetworkDefinition, context: BlockNetworkContext): readonly Cause[] {
  return [
    ...facts.pools.flatMap((pool) => overlapOf(pool, facts, context)),
    ...facts.pools.flatMap((pool) => sharedOf(pool, facts, context)),
  ]
}

/** The pool has less to give than this definition says, or another gateway. */
function sharedOf(pool: RangePool, facts: NetworkDefinition, context: BlockNetworkContext): readonly Cause[] {
  const other = usersOf(pool.name, context).find(
    (user) => user !== facts && user.pools.some((each) => each.name === pool.name && !isSame(each, pool)),
  )
  if (other === undefined) return []
  const whose = `NetworkAttachmentDefinition ${refText(other.object)}`
  const message = `${whose} has the range of IPPool ${pool.name} with other excludes, static addresses or gateway: the pool gives only what all its definitions give`
  return [{ kind: 'shared', reason: 'SharedPool', message, cause: pool.name }]
}

/**
 * A range of the same network in another domain: with slices, with slices of another size, or with
 * addresses that are unique in its CIDR only.
 */
function overlapOf(pool: RangePool, facts: NetworkDefinition, { cache }: BlockNetworkContext): readonly Cause[] {
  for (const other of cache.definitions.by('network', pool.network) as readonly NetworkDefinition[]) {
    const hit = other.pools.find((each) => mayGiveTwice(each, pool))
    if (hit === undefined) continue
    const whose = other === facts ? 'it' : `NetworkAttachmentDefinition ${refText(other.object)}`
    const message = `${whose} has ${Prefix.format(hit.prefix)} in the domain ${hit.domain}, and ${Prefix.format(pool.prefix)} is in ${pool.domain}: an address may be given twice`
    return [{ kind: 'overlaps', reason: 'OverlappingDomains', message, cause: `${pool.name} ${hit.name}` }]
  }
  return []
}

/** Ranges of their own overlap others on purpose, but not those of the same CIDR. */
function mayGiveTwice(left: RangePool, right: RangePool): boolean {
  if (left.domain === right.domain || left.network !== right.network) return false
  if (left.isOwn || right.isOwn) return Prefix.equals(left.prefix, right.prefix)
  return Prefix.overlaps(left.prefix, right.prefix)
}
