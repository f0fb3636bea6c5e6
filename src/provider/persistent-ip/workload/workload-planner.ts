import { Ledger } from '../../../allocator/index.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { type KindInfo, type KubeObject, kindKey, type NameRef } from '../../../crd/meta/object.js'
import type { NetworkAttachmentDefinition } from '../../../crd/multinet/index.js'
import { check, type KindOf } from '../../../errors/check.js'
import { refuse } from '../../../errors/refuse.js'
import {
  Absences,
  type Delta,
  definePlanner,
  type Planner,
  type PlannerWatches,
  type SentEvents,
} from '../../../plan/index.js'
import { plannerKeys } from '../../../plan/planner-keys.js'
import type { ClaimWaits } from './claim-effects.js'
import { ownerName, PERSISTENT_IPS_LABEL } from './claim-owner.js'
import type { PersistentClaimsOutcome } from './outcome.js'
import { eventKey, planWorkloadClaim, type WorkloadCache } from './plan-workload.js'
import {
  type ClaimPod,
  claimsLeftBy,
  claimsOfPod,
  claimWatch,
  definitionWatch,
  ownerWatch,
  podWatch,
} from './watches.js'

export interface WorkloadClaimsOptions {
  /**
   * The kinds that can own claims, such as `StatefulSet.info`: at least one, and namespaced. The
   * program needs the rights to list and to watch them.
   */
  readonly kinds: readonly KindInfo[]
  /**
   * Whether claims are made. False: definitions of networks are not watched, existing claims stay,
   * and are released as before. Default true.
   */
  readonly enabled?: boolean | undefined
  /** The namespace of the workloads. Left out: all namespaces. */
  readonly namespace?: string | undefined
  /**
   * How long the owners of a claim have to be missing before it is released, in seconds, from 0 to
   * 86,400. Default 5.
   */
  readonly graceSeconds?: number | undefined
}

const OPTIONS: KindOf<WorkloadClaimsOptions> = {
  kinds: ['list', ['open', { apiVersion: 'text', kind: 'text', plural: 'text', namespaced: 'flag' }]],
  enabled: 'flag?',
  namespace: 'text?',
  graceSeconds: 'number?',
}

const KEYS = plannerKeys('IPAMClaim')

interface State extends ClaimWaits {
  readonly cache: WorkloadCache
}
type Context = { readonly state: State }

/**
 * Makes and releases the IPAMClaims of any workload, without KubeVirt. Keys are
 * `IPAMClaim namespace/name`. {@link workloadClaimDecision} decides.
 *
 * A Pod has the label `ipam-kit.dev/persistent-ips: "true"`, names its claims in its network
 * selection (`ipam-claim-reference`), and their owners in its annotation `ipam-kit.dev/claim-owner`
 * (`StatefulSet.apps/web`). Owners are in the namespace of the Pod. A claim stays as long as one of
 * them exists, whatever becomes of the Pods: a StatefulSet that is scaled down and up has the same
 * addresses, if each Pod names a claim with its ordinal.
 *
 * Only one process at a time may run it. A plan costs O(Pods that name the claim + owners).
 *
 * @throws IpamError `INVALID_ARGUMENT`, also for a kind that is cluster-scoped
 * @example
 * import { StatefulSet } from 'ipam-kit/crd/core'
 * workloadClaims({ kinds: [StatefulSet.info] }).watches.map(({ kind }) => kind)
 * // ['IPAMClaim', 'Pod', 'NetworkAttachmentDefinition', 'StatefulSet']
 */
export function workloadClaims(options: WorkloadClaimsOptions): Planner<PersistentClaimsOutcome> {
  check('workloadClaims', 'options', options, OPTIONS)
  const { kinds, enabled = true, namespace, graceSeconds = 5 } = options
  const isRight = kinds.length > 0 && kinds.every(({ namespaced }) => namespaced)
  if (!isRight) refuse('workloadClaims', 'kinds', 'at least one kind, all of them namespaced', kinds)
  if (!(graceSeconds >= 0 && graceSeconds <= 86_400)) {
    refuse('workloadClaims', 'graceSeconds', 'seconds, 0 to 86400', graceSeconds)
  }
  const [claims, definitions] = [claimWatch(namespace), definitionWatch()]
  const pods = podWatch(namespace, { [PERSISTENT_IPS_LABEL]: 'true' })
  const owners = kinds.map((kind) => [kind, ownerWatch(kind, namespace)] as const)
  const watches: PlannerWatches = {
    claims,
    pods,
    ...(enabled && { definitions }),
    ...Object.fromEntries(owners.map(([kind, watch]) => [kindKey(kind), watch])),
  }
  const wakesOfOwner = owners.map(([kind]) => [
    kindKey(kind),
    ({ ref }: Delta<KubeObject>, { state: { cache } }: Context) => keysOfOwner(kind, ref, cache),
  ])
  return definePlanner<PersistentClaimsOutcome, PlannerWatches, State>({
    name: 'workload-claims',
    watches,
    state: (objects) => ({
      cache: {
        claims: objects.open(claims),
        pods: objects.open(pods),
        owners: owners.map(([kind, watch]) => [kind, objects.open(watch)] as const),
        definitions: enabled ? objects.open(definitions) : undefined,
      },
      absences: new Absences(graceSeconds),
      refusals: new Map(),
    }),
    // claims hold nothing here. With a ledger, which stays empty, the Events of plans that are
    // carried out are remembered, and plans are carried out side by side
    holds: {},
    ledger: () => new Ledger({ space: RangeSet.parse([]) }),
    wakes: {
      claims: ({ ref }) => [KEYS.format('IPAMClaim', ref)],
      pods: (delta, { state, sent }) => keysOfPod(delta, state.cache, sent),
      ...(enabled && {
        definitions: ({ ref }: Delta<NetworkAttachmentDefinition>, { state: { cache } }: Context) =>
          keysOfDefinition(ref, cache),
      }),
      ...Object.fromEntries(wakesOfOwner),
    },
    plan(key, { state, sent }, time) {
      const read = KEYS.read(key)
      return read && planWorkloadClaim(key, read.name, state.cache, state, sent, time)
    },
    refused(key, _, { state: { refusals } }) {
      refusals.set(key, (refusals.get(key) ?? 0) + 1)
      return undefined
    },
  })
}

/** The claims that a Pod names, and those that it has named. */
function keysOfPod(delta: Delta<ClaimPod>, { claims }: WorkloadCache, sent: SentEvents): readonly string[] {
  const { before, now } = delta
  const names = new Set([...claimsOfPod(before), ...claimsOfPod(now), ...claimsLeftBy(delta, claims)])
  const keys = [...names].map((name) => KEYS.format('IPAMClaim', name))
  if (now === undefined && before?.ok === true) for (const key of keys) sent.forget(eventKey(key, before.value))
  return keys
}

function keysOfDefinition({ namespace = '', name }: NameRef, { pods }: WorkloadCache): readonly string[] {
  const named = [...pods.by('nad', `${namespace}/${name}`), ...pods.by('nad', `${namespace}/`)]
  return keysOf(named)
}

/** The claims that an owner has, and those of Pods that name it. */
function keysOfOwner(
  kind: KindInfo,
  { namespace = '', name }: NameRef,
  { pods, claims }: WorkloadCache,
): readonly string[] {
  const text = ownerName(kind, name)
  const owned = claims.by('owner', `${namespace} ${text}`).map(({ metadata }) => KEYS.format('IPAMClaim', metadata))
  return [...new Set([...owned, ...keysOf(pods.by('owner', `${namespace} ${text}`))])]
}

function keysOf(pods: readonly ClaimPod[]): readonly string[] {
  const names = pods.flatMap(({ namespace, claims }) => claims.map(({ claim }) => `${namespace}/${claim}`))
  return [...new Set(names)].map((name) => KEYS.format('IPAMClaim', name))
}
