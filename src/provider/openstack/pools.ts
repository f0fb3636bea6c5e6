import * as Address from '../../cidr/nouns/address.js'
import type { ConditionUpdate } from '../../claim/conditions.js'
import { setCondition } from '../../claim/index.js'
import type { Json } from '../../crd/meta/object.js'
import { floatingIPPoolErrors } from '../../crd/openstack/admission.js'
import { adoptByTagOf, minFreeOf, namesOne } from '../../crd/openstack/floating-ip-pool.js'
import { OpenStackFloatingIPPool, poolTag } from '../../crd/openstack/index.js'
import {
  ADDRESS_FINALIZER,
  ADOPT_BY_TAG_ANNOTATION,
  AUTHENTICATION_CONDITION,
  AUTHENTICATION_FAILED_REASON,
  MAX_IPS_REACHED_REASON,
  MIN_FREE_ANNOTATION,
  NETWORK_NOT_FOUND_REASON,
  OPENSTACK_ERROR_REASON,
  POOL_FINALIZER,
  POOL_READY_CONDITION,
  READY_REASON,
} from '../../crd/openstack/names.js'
import { check, type KindOf } from '../../errors/check.js'
import { listedInOrder } from '../../errors/listed.js'
import type { MergePatch } from '../../plan/effect.js'
import type { PlanTime } from '../../plan/index.js'
import type { Provider } from '../claims/index.js'
import type { ExternalPoolsDefinition } from '../external/definition.js'
import {
  type ExternalPoolKind,
  type ExternalPoolLedger,
  type ExternalPoolOutcome,
  externalPools,
} from '../external/index.js'
import type { PoolReport, Shortage } from '../external/pool-kind.js'

/** Options of {@link floatingIPPools}: those of {@link externalPools}. */
export type FloatingIPPoolsOptions = Pick<
  ExternalPoolsDefinition<OpenStackFloatingIPPool>,
  'callSeconds' | 'listLagSeconds' | 'listSeconds' | 'holdsAddress'
>

const FLOATING_IP_POOLS_OPTIONS: KindOf<FloatingIPPoolsOptions> = {
  callSeconds: 'number?',
  listLagSeconds: 'number?',
  listSeconds: 'number?',
  holdsAddress: 'function?',
}

/**
 * The provider of OpenStackFloatingIPPool objects: floating IPs of OpenStack for claims of Cluster
 * API. It replaces the pool controller of cluster-api-provider-openstack, with the same finalizers,
 * conditions and tags.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function floatingIPPools(
  options: FloatingIPPoolsOptions = {},
): Provider<OpenStackFloatingIPPool, ExternalPoolLedger<OpenStackFloatingIPPool>, ExternalPoolOutcome> {
  check('floatingIPPools', 'options', options, FLOATING_IP_POOLS_OPTIONS)

  return externalPools({ ...options, name: 'openstack-floating-ip', kind: floatingIPPoolKind })
}

/** How an OpenStackFloatingIPPool is read, and how its status is written. */
const floatingIPPoolKind: ExternalPoolKind<OpenStackFloatingIPPool> = {
  model: OpenStackFloatingIPPool,
  finalizers: { address: ADDRESS_FINALIZER },
  poolFinalizer: POOL_FINALIZER,
  annotations: [MIN_FREE_ANNOTATION, ADOPT_BY_TAG_ANNOTATION],
  policyOf(pool) {
    const problems = floatingIPPoolErrors(pool).map(({ path, detail }) => `${path}: ${detail}`)
    const [minFree, adoptByTag] = [minFreeOf(pool), adoptByTagOf(pool)]
    const { preAllocatedFloatingIPs = [], maxIPs, reclaimPolicy, floatingIPNetwork, identityRef } = pool.spec
    if (floatingIPNetwork !== undefined && !namesOne(floatingIPNetwork)) return { ok: false, problems }
    const { claimedIPs = [], availableIPs = [] } = pool.status ?? {}
    return {
      ok: true,
      problems,
      policy: {
        preallocated: readable(preAllocatedFloatingIPs),
        // what cannot be read limits the pool: it creates nothing
        max: adoptByTag.ok ? maxIPs && Math.max(0, maxIPs) : 0,
        minFree: minFree.ok && adoptByTag.ok ? minFree.value : 0,
        reclaim: reclaimPolicy,
        network: (floatingIPNetwork ?? null) as Json,
        access: { identityRef, namespace: pool.metadata.namespace ?? '' } as unknown as Json,
        adopt: {
          // read once in the life of a pool, and as long as its status
          get listed() {
            return [...claimedIPs, ...availableIPs].flatMap((text) => {
              const address = Address.safeParse(text)
              return address.ok ? [address.value] : []
            })
          },
          tags: adoptByTag.ok && adoptByTag.value ? [poolTag(pool.metadata.name)] : [],
        },
      },
    }
  },
  statusPatch,
}

/** The addresses of a list, each once, without texts that are none. */
function readable(texts: readonly string[]): readonly Address.Address[] {
  const addresses = new Map<string, Address.Address>()
  for (const text of texts) {
    const read = Address.safeParse(text)
    if (!read.ok) continue
    const key = Address.format(Address.unmap(read.value))
    if (!addresses.has(key)) addresses.set(key, read.value)
  }
  return [...addresses.values()]
}

function statusPatch(pool: OpenStackFloatingIPPool, report: PoolReport, { nowMs }: PlanTime): MergePatch | undefined {
  const { status = {} } = pool
  const now = `${new Date(nowMs).toISOString().slice(0, -5)}Z`
  const { generation } = pool.metadata
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  const conditions = conditionsOf(report).reduce(
    (list, update) => setCondition(list, { ...update, ...observed }, now),
    status.conditions,
  )
  const { network } = report
  const wanted: { readonly [field: string]: unknown } = {
    claimedIPs: report.claimed,
    ...(report.isKnown && {
      availableIPs: report.available,
      failedIPs: report.failed.map(({ address }) => address),
    }),
    ...(network && { floatingIPNetwork: network }),
    conditions,
  }
  const before: { readonly [field: string]: unknown } = { failedIPs: [], ...status }
  const changed = Object.entries(wanted).filter(([field, value]) => !isSame(before[field], value))
  if (changed.length === 0) return undefined
  // both lists are required in a status
  const required = { claimedIPs: report.claimed, availableIPs: wanted.availableIPs ?? status.availableIPs ?? [] }
  return { status: { ...(pool.status === undefined && required), ...Object.fromEntries(changed) } } as MergePatch
}

function conditionsOf(report: PoolReport): ConditionUpdate[] {
  const { shortage, isKnown } = report
  const problems = problemsOf(report)
  const isDenied = shortage?.reason === 'BackendDenied'
  const isKnowing = isKnown || shortage?.kind === 'cloud'
  const authenticated: ConditionUpdate[] = isDenied
    ? [
        {
          type: AUTHENTICATION_CONDITION,
          status: 'False',
          reason: AUTHENTICATION_FAILED_REASON,
          // the prefix of upstream's message
          message: `Failed to create OpenStack client scope: ${shortage.message}`,
        },
      ]
    : isKnowing
      ? [{ type: AUTHENTICATION_CONDITION, status: 'True', reason: READY_REASON, message: '' }]
      : []
  if (shortage === undefined) {
    const message = problems.slice(0, 20).join('; ')
    return [...authenticated, { type: POOL_READY_CONDITION, status: 'True', reason: READY_REASON, message }]
  }
  return [
    ...authenticated,
    {
      ...{ type: POOL_READY_CONDITION, status: 'False' as const, reason: reasonOf(shortage) },
      message: messageOf(shortage, problems),
    },
  ]
}

/** What is wrong beside a shortage, as sentences. */
function problemsOf({ problems, missing, inherited }: PoolReport): readonly string[] {
  const named = (texts: readonly string[]) => listedInOrder(texts, ', ')
  return [
    ...(missing.length > 0 ? [`The cloud does not have these addresses of claims: ${named(missing)}`] : []),
    ...(inherited.length > 0
      ? [`An earlier pool has created these, see ipam-kit.dev/earlier-uid: ${named(inherited)}`]
      : []),
    ...problems,
  ]
}

function reasonOf({ kind, operation }: Shortage): string {
  if (kind === 'max') return MAX_IPS_REACHED_REASON
  return operation === 'findNetwork' ? NETWORK_NOT_FOUND_REASON : OPENSTACK_ERROR_REASON
}

/** Upstream's text, if it has one, and what else is wrong. */
function messageOf({ kind, message }: Shortage, problems: readonly string[]): string {
  const reached = 'Maximum number of IPs reached, we will not allocate more IPs for this pool'
  return [kind === 'max' ? reached : message, ...problems.slice(0, 20)].join('; ')
}

function isSame(left: unknown, right: unknown): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right)
}
