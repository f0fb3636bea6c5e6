import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import type { Pod } from '../../../crd/core/index.js'
import { type KubeObject, nameKey } from '../../../crd/meta/object.js'
import type { Holding, Parsed } from '../../../plan/index.js'
import { plannerKeys } from '../../../plan/planner-keys.js'
import { DEFAULT_NETWORK } from '../network/definition.js'
import { heldByClaim } from './claim-status.js'
import { heldByPod } from './pod-stage.js'
import { nadOfKey, type ServedPod, type ServingCache } from './watches.js'

export const KEYS = plannerKeys('IPAMClaim', 'Pod')

/** What a claim holds in its network: each text of its status counts alone. */
export function holdingsOfClaim(
  { object }: Pick<Parsed<KubeObject>, 'object'>,
  { edited }: Pick<ServingCache, 'edited'>,
): readonly Holding[] {
  const { network: pool, texts } = edited.givenTo(object)
  if (pool === undefined) return []
  const { metadata } = object
  const held = new Map(
    heldByClaim({ metadata, status: { ips: texts } }).map((prefix) => [Prefix.format(prefix), prefix]),
  )
  const key = KEYS.format('IPAMClaim', metadata)
  return [...held.values()].map((prefix) => ({ pool, prefix, key, ownerUid: metadata.uid, field: 'status.ips' }))
}

/**
 * What a Pod holds. Where a claim that it names holds the address too, the claim is the holder of
 * both: the Pods of a migration are in no conflict. An address in a network whose definition is not
 * there, or does not have it, is held in all networks that have it.
 */
export function holdingsOfPod(
  entry: Parsed<ServedPod>,
  cache: ServingCache,
): { readonly holdings: readonly Holding[]; readonly isDefined: boolean } {
  const { object } = entry
  const { metadata } = object
  const claims = (entry.ok ? entry.value.claims : []).flatMap((name) => cache.claims.get(name) ?? [])
  const held = heldByPod({ spec: {}, ...object } as Pod).filter(({ network }) => network !== DEFAULT_NETWORK)
  const own = { key: KEYS.format('Pod', nameKey(metadata)), ownerUid: metadata.uid }
  const holdings = held.flatMap(({ network, prefix }): readonly Holding[] => {
    const field = `metadata.annotations[k8s.ovn.org/pod-networks][${network}]`
    const known = networkOf(network, prefix, cache)
    const ofClaims = claims.flatMap((claim) => holdingsOfClaim({ object: claim }, cache))
    const same = ofClaims.find((one) => (known ?? one.pool) === one.pool && Prefix.equals(one.prefix, prefix))
    if (same !== undefined) return [{ ...same, field }]
    const pools = known === undefined ? poolsWith(prefix, cache) : [known]
    return pools.map((pool) => ({ pool, prefix, ...own, field }))
  })
  return { holdings, isDefined: held.every(({ network, prefix }) => networkOf(network, prefix, cache) !== undefined) }
}

/**
 * The network in which a Pod has an address. `undefined`: it has no definition, or the definition
 * has become one of another plugin or of other subnets.
 */
function networkOf(key: string, { address }: Prefix.Prefix, { definitions }: ServingCache): string | undefined {
  const { name, addressing, subnets = [] } = definitions?.get(nadOfKey(key))?.definition ?? {}
  const isIn = subnets.length === 0 || subnets.some(({ prefix }) => Prefix.contains(prefix, address))
  return addressing === 'plugin' || !isIn ? undefined : name
}

/** The networks that have an address. */
function poolsWith({ address }: Prefix.Prefix, { definitions }: ServingCache): readonly string[] {
  const names = [...(definitions ?? [])].flatMap(({ definition: { name, subnets } }) =>
    subnets.some(({ prefix }) => Prefix.contains(prefix, address)) ? [name] : [],
  )
  return [...new Set(names)]
}

/** Whether a holder is a Pod that has an address by a definition which is not of the network. */
export function isElsewhere(holder: string, network: string, { pods, definitions }: ServingCache): boolean {
  const read = KEYS.read(holder)
  const pod = read?.kind === 'Pod' ? pods.get(read.name) : undefined
  return pod?.entries.every((nad) => definitions?.get(nad)?.definition.name !== network) === true
}

/** A /32 or a /128. */
export function hostOf(address: Address.Address): Prefix.Prefix {
  return Prefix.of(address, Address.bitsOf(address.family))
}
