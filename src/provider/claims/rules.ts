import { PROTECT_ADDRESS_FINALIZER, RELEASE_ADDRESS_FINALIZER } from '../../crd/in-cluster/names.js'
import { groupOf, type KindInfo, type KubeObject, kindKey } from '../../crd/meta/object.js'
import { ipamError } from '../../errors/index.js'
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
    Pick<ProviderDefinition<P, L, O, R>, 'name' | 'pools' | 'ledger' | 'planPool'> {}

/** Of these, what a plan for a claim is made by. */
export interface ClaimRules<P extends KubeObject, L extends Ledger<P>, O>
  extends PoolKinds,
    Pick<ProviderDefinition<P, L, O, Outcome>, 'resolve' | 'ensure' | 'release'> {
  readonly finalizers: ProviderFinalizers
}

/** Which pools are ours. */
export interface PoolKinds {
  /** By `group/Kind`. */
  readonly kinds: ReadonlyMap<string, KindInfo>
  /** The group that an empty one stands for. */
  readonly emptyGroup: string
}

/** @throws IpamError `INVALID_ARGUMENT` for a definition without pools */
export function rulesOf<P extends KubeObject, L extends Ledger<P>, O, R extends Outcome>(
  definition: ProviderDefinition<P, L, O, R>,
): ProviderRules<P, L, O, R> {
  const { pools, finalizers } = definition
  const [first] = pools
  if (first === undefined) {
    throw ipamError('INVALID_ARGUMENT', { argument: 'pools', expected: 'at least one kind of pool', got: 'none' })
  }
  return {
    ...definition,
    kinds: new Map(pools.map(({ info }) => [kindKey(info), info])),
    emptyGroup: definition.emptyGroup ?? groupOf(first.info.apiVersion),
    finalizers: { ...DEFAULT_FINALIZERS, ...finalizers },
  }
}
