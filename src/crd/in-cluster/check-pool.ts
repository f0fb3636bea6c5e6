import { check, type Kind } from '../../errors/check.js'
import { type KubeObject, META } from '../meta/object.js'
import { ADDRESS_SPEC, PREFIX_SPEC } from './kinds.js'
import { type InClusterPool, isPrefixPoolKind } from './pools.js'

/**
 * The check of an argument that is a pool.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function checkPool(of: string, argument: string, pool: InClusterPool): void {
  check<KubeObject>(of, argument, pool, ['open', { kind: 'text', metadata: META, spec: 'any' }])
  const spec = isPrefixPoolKind(pool.kind) ? PREFIX_SPEC : ADDRESS_SPEC
  check<unknown>(of, `${argument}.spec`, pool.spec, spec as Kind)
}
