import { PROTECT_ADDRESS_FINALIZER, RELEASE_ADDRESS_FINALIZER } from '../../crd/in-cluster/names.js'
import { groupOf, type KindInfo, type KubeObject } from '../../crd/meta/object.js'
import type { Outcome } from '../../plan/index.js'
import type { Ledger, ProviderDefinition, ProviderFinalizers } from './definition.js'

/** The finalizers that `pkg/ipamutil` of Cluster API's in-cluster provider gives to every provider that is built on it. */
export const DEFAULT_FINALIZERS: ProviderFinalizers = {
  claim: RELEASE_ADDRESS_FINALIZER,
  address: PROTECT_ADDRESS_FINALIZER,
}

/** A definition that was looked at, with its defaults filled in. */
export interface ProviderRules<P extends KubeObject, L extends Ledger<P>, O, R extends Outcome>
  extends ClaimRules<P, L, O>,
    Pick<
      ProviderDefinition<P, L, O, R>,
      'name' | 'pools' | 'ledger' | 'planPool' | 'poolAnnotations' | 'memory' | 'sweepAfterSeconds'
    > {}

/** Of these, what a plan for a claim is made by. */
export interface ClaimRules<P extends KubeObject, L extends Ledger<P>, O>
  extends PoolKinds,
    Pick<ProviderDefinition<P, L, O, Outcome>, 'resolve' | 'ensure' | 'release' | 'outside'> {
  readonly finalizers: ProviderFinalizers
}

/** Which pools are ours. */
export interface PoolKinds {
  readonly kinds: readonly (KindInfo & { readonly group: string })[]
  /** The group that an empty one stands for. */
  readonly emptyGroup: string
}

export function rulesOf<P extends KubeObject, L extends Ledger<P>, O, R extends Outcome>(
  definition: ProviderDefinition<P, L, O, R>,
): ProviderRules<P, L, O, R> {
  const kinds = definition.pools.map(({ info }) => ({ ...info, group: groupOf(info.apiVersion) }))
  return {
    ...definition,
    kinds,
    emptyGroup: definition.emptyGroup ?? kinds[0]?.group ?? '',
    finalizers: { ...DEFAULT_FINALIZERS, ...definition.finalizers },
  }
}
