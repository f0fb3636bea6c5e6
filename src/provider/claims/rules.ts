import { Cluster } from '../../crd/cluster-api/cluster.js'
import { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { PROTECT_ADDRESS_FINALIZER, RELEASE_ADDRESS_FINALIZER } from '../../crd/cluster-api/names.js'
import { groupOf, type KindInfo, type KubeObject } from '../../crd/meta/object.js'
import { check, type KindOf } from '../../errors/check.js'
import { refuseIn } from '../../errors/refuse.js'
import type { Outcome } from '../../plan/index.js'
import { assertCalls, type CallTypes } from './call-schemas.js'
import { type AnyDefinition, checkedVerbs } from './checked-verbs.js'
import type { ClaimLedger, ExternalOptions, ProviderDefinition, ProviderFinalizers } from './definition.js'

/**
 * The finalizers that `pkg/ipamutil` of Cluster API's in-cluster provider sets for every provider
 * that is built on it.
 */
export const DEFAULT_FINALIZERS: ProviderFinalizers = {
  claim: RELEASE_ADDRESS_FINALIZER,
  address: PROTECT_ADDRESS_FINALIZER,
}

/**
 * A checked definition with its defaults. The types of its pools, ledger and offers are checked
 * where it is defined: the life of claims only passes them from one verb to the next.
 */
export interface ProviderRules extends PoolKinds, Omit<AnyDefinition, 'emptyGroup' | 'finalizers'> {
  readonly finalizers: ProviderFinalizers
}

/**
 * Whether a provider gives a claim another address if it gives one back: it chooses addresses by
 * its ledger, and neither an external system nor `confirm` says which address is that of a claim.
 */
export function choosesByLedger({ external, confirm }: ProviderRules): boolean {
  return external === undefined ? confirm === undefined : external.marker === 'pool'
}

/**
 * Whether an IPAddress without its claim stays: only the claim tells what to release in an external
 * system.
 */
export function areOrphansLeft({ external }: ProviderRules): boolean {
  return external !== undefined && external.marker !== 'pool' && external.orphans !== 'swept'
}

/** The kinds of pools of a provider. */
export interface PoolKinds {
  readonly kinds: readonly (KindInfo & { readonly group: string })[]
  /** The group that an empty one stands for. */
  readonly emptyGroup: string
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function rulesOf<P extends KubeObject, L extends ClaimLedger<P>, O, R extends Outcome, C extends CallTypes>(
  of: ProviderDefinition<P, L, O, R, C>,
): ProviderRules {
  const definition = of as unknown as AnyDefinition
  assertDefinition(definition)
  const kinds = definition.pools.map(({ info }) => ({ ...info, group: groupOf(info.apiVersion) }))
  return {
    ...definition,
    ...checkedVerbs(definition),
    kinds,
    emptyGroup: definition.emptyGroup ?? kinds[0]?.group ?? '',
    finalizers: { ...DEFAULT_FINALIZERS, ...definition.finalizers },
  }
}

const OF = 'defineProvider'
const COMMON_KINDS = [IPAddressClaim, IPAddress, Cluster].map(({ info }) => info.kind)
const REQUIRED = ['ledger', 'resolve', 'ensure', 'planPool'] as const
const OPTIONAL = ['confirm', 'release', 'holdsAddress'] as const
const EXTERNAL: KindOf<ExternalOptions | undefined> = [
  'options?',
  {
    marker: ['one', { kept: 1, claim: 1, pool: 1, none: 1 }],
    orphans: ['one?', { left: 1, swept: 1 }],
    isBegun: 'function?',
  },
]

/** @throws IpamError `INVALID_ARGUMENT` */
function assertDefinition(definition: AnyDefinition): void {
  check(OF, 'definition', definition, 'object')
  check(OF, 'external', definition.external, EXTERNAL)
  check(OF, 'overlaps', definition.overlaps, ['one?', { report: 1, avoid: 1 }])
  const { name, pools, finalizers, calls, sweepAfterSeconds } = definition
  if (!isText(name)) refuseIn(OF, 'name', 'a text', name)
  if (!Array.isArray(pools) || pools.length === 0 || !pools.every(isModel)) {
    refuseIn(OF, 'pools', 'a list of models, one at least', pools)
  }
  // keys contain no group
  const kinds = [...COMMON_KINDS, ...pools.map(({ info }) => info.kind)]
  if (new Set(kinds).size < kinds.length) refuseIn(OF, 'pools', 'kinds of different names', kinds.join(', '))
  for (const verb of REQUIRED) check<unknown>(OF, verb, definition[verb], 'function')
  for (const verb of OPTIONAL) check<unknown>(OF, verb, definition[verb], 'function?')
  for (const [of, finalizer] of Object.entries(finalizers ?? {})) {
    if (finalizer !== undefined && !isText(finalizer)) refuseIn(OF, `finalizers.${of}`, 'a text', finalizer)
  }
  if (calls !== undefined) assertCalls(OF, calls)
  if (sweepAfterSeconds !== undefined && !(sweepAfterSeconds >= 0)) {
    refuseIn(OF, 'sweepAfterSeconds', 'seconds, from 0', sweepAfterSeconds)
  }
}

function isModel(model: AnyDefinition['pools'][number] | undefined): boolean {
  return typeof model?.info?.apiVersion === 'string'
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
