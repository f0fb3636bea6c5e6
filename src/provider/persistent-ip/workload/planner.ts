import { Ledger } from '../../../allocator/index.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { type KubeObject, nameKey } from '../../../crd/meta/object.js'
import type { NetworkAttachmentDefinition } from '../../../crd/multinet/index.js'
import { check, type KindOf } from '../../../errors/check.js'
import { refuse } from '../../../errors/refuse.js'
import {
  Absences,
  type Delta,
  definePlanner,
  type Planner,
  type PlannerContext,
  type PlannerWatches,
} from '../../../plan/index.js'
import { plannerKeys } from '../../../plan/planner-keys.js'
import type { VMClaimOptions } from '../pod/vm-claims.js'
import type { ClaimWaits } from './claim-effects.js'
import { missedKey } from './missed-mutations.js'
import type { PersistentClaimsOutcome } from './outcome.js'
import { type MachineCache, planMachine } from './plan-machine.js'
import { vmsOfClaim } from './vm-claim-decision.js'
import {
  type ClaimPod,
  claimsLeftBy,
  claimWatch,
  definitionWatch,
  instanceWatch,
  machineWatch,
  podWatch,
  VM_PODS,
} from './watches.js'

export interface PersistentClaimsOptions extends VMClaimOptions {
  /**
   * Whether claims are made. False: definitions of networks are not watched, existing claims stay,
   * and are released as before. Default true.
   */
  readonly enabled?: boolean | undefined
  /** The namespace of the workloads. Left out: all namespaces. */
  readonly namespace?: string | undefined
  /**
   * What happens with the claim of an interface that is unplugged. `keep`: it stays until the
   * machine is deleted, as upstream. `delete`: it is deleted when no Pod of the machine names it.
   * Default `keep`.
   */
  readonly unplugged?: 'keep' | 'delete' | undefined
  /**
   * How long the objects of a machine have to be missing before its claims are released, in
   * seconds, from 0 to 86,400. Default 5.
   */
  readonly graceSeconds?: number | undefined
  /**
   * Whether the Pods of a machine are compared with its claims. `report`: a Pod that does not name
   * a claim, as the webhook did not see it, gets an Event, and the claim the condition
   * `MutationMissed`. Default `ignore`: no Pod is watched for it.
   */
  readonly missedMutations?: 'ignore' | 'report' | undefined
}

const OPTIONS: KindOf<PersistentClaimsOptions> = {
  enabled: 'flag?',
  namespace: 'text?',
  unplugged: ['one?', { keep: 1, delete: 1 }],
  graceSeconds: 'number?',
  missedMutations: ['one?', { ignore: 1, report: 1 }],
  sticky: 'function?',
}

const KEYS = plannerKeys('VirtualMachine')

interface State extends ClaimWaits {
  readonly cache: MachineCache
}

/**
 * Makes and releases the IPAMClaims of virtual machines of KubeVirt, in place of the controllers of
 * ipam-extensions. Keys are `VirtualMachine namespace/name`; an instance without a machine has the
 * same key. {@link vmClaimDecision} decides.
 *
 * A claim is released when its machine and its instance do not exist, or as `vmPhase` says. Each of
 * them has to be missing twice, and is then read by name in the store. A claim that waits for its
 * machine is released also if its last event was lost: claims are watched too.
 *
 * Only one process at a time may run it. A plan costs O(claims of the machine, and definitions in
 * its namespace).
 *
 * @throws IpamError `INVALID_ARGUMENT`
 * @example
 * const planner = persistentClaims()
 * const metadata = { namespace: 'shop', name: 'db', uid: 'u1', resourceVersion: '1' }
 * const spec = { template: {} }
 * const [key] = planner.observe({ kind: 'present', object: { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', metadata, spec } })
 * planner.plan(key, { nowMs: 0 }).outcome // { kind: 'kept', message: 'the machine is stopped' }
 */
export function persistentClaims(options: PersistentClaimsOptions = {}): Planner<PersistentClaimsOutcome> {
  check('persistentClaims', 'options', options, OPTIONS)
  const { enabled = true, namespace, unplugged = 'keep', graceSeconds = 5, sticky, missedMutations } = options
  if (!(graceSeconds >= 0 && graceSeconds <= 86_400)) {
    refuse('persistentClaims', 'graceSeconds', 'seconds, 0 to 86400', graceSeconds)
  }
  const removes = enabled && unplugged === 'delete'
  const compares = enabled && missedMutations === 'report'
  const [machines, instances] = [machineWatch(namespace), instanceWatch(namespace)]
  const [claims, definitions, pods] = [claimWatch(namespace), definitionWatch(), podWatch(namespace, VM_PODS)]
  const watches: PlannerWatches = {
    machines,
    instances,
    claims,
    ...(enabled && { definitions }),
    ...((removes || compares) && { pods }),
  }
  const wake = ({ ref }: Delta<unknown>) => [KEYS.format('VirtualMachine', ref)]
  return definePlanner<PersistentClaimsOutcome, PlannerWatches, State>({
    name: 'persistent-claims',
    watches,
    state(objects) {
      const opened = removes || compares ? objects.open(pods) : undefined
      const named = removes ? opened : undefined
      return {
        cache: {
          machines: objects.open(machines),
          instances: objects.open(instances),
          claims: objects.open(claims),
          definitions: enabled ? objects.open(definitions) : undefined,
          unplugged,
          sticky,
          compared: compares ? opened : undefined,
          isInUse: (claim) => named === undefined || isNamed(claim, (index) => named.countBy('claim', index)),
        },
        absences: new Absences(graceSeconds),
        refusals: new Map(),
      }
    },
    // claims hold nothing here. With a ledger, which stays empty, the Events of plans that are
    // carried out are remembered, and plans are carried out side by side
    holds: {},
    ledger: () => new Ledger({ space: RangeSet.parse([]) }),
    wakes: {
      machines: wake,
      instances: wake,
      claims: (delta, { state }) => keysOfClaim(delta, state.cache),
      ...(enabled && {
        definitions: (delta: Delta<NetworkAttachmentDefinition>, { state }: { readonly state: State }) =>
          keysOfDefinition(delta, state.cache),
      }),
      ...((removes || compares) && {
        pods: (delta: Delta<ClaimPod>, { state, sent }: PlannerContext<PlannerWatches, State>) => {
          const keys = compares ? machinesOfPod(delta) : []
          if (delta.now === undefined) for (const key of keys) sent.forget(missedKey(key, delta.ref.name))
          return [...new Set([...keys, ...keysOfPod(delta, state.cache)])]
        },
      }),
    },
    plan(key, { state, sent }, time) {
      const read = KEYS.read(key)
      return read && planMachine(key, read.name, state.cache, state, sent, time)
    },
    refused(key, _, { state: { refusals } }) {
      refusals.set(key, (refusals.get(key) ?? 0) + 1)
      return undefined
    },
  })
}

/** A Pod whose annotations cannot be read may name any claim of its namespace. */
function isNamed(claim: string, count: (index: string) => number): boolean {
  return count(claim) > 0 || count(`${claim.slice(0, claim.indexOf('/'))}/`) > 0
}

/** The machines of a claim, and those that wait for its name. */
function keysOfClaim({ ref, before, now }: Delta<KubeObject>, cache: MachineCache): readonly string[] {
  const { namespace } = ref
  const versions = [before, now].flatMap((entry) => (entry?.ok === true ? [entry.value] : []))
  const names = versions.flatMap(vmsOfClaim).map((name) => nameKey({ namespace, name }))
  const waiting = cache.instances.by('claim', nameKey(ref)).map(({ metadata }) => nameKey(metadata))
  return [...new Set([...names, ...waiting])].map((name) => KEYS.format('VirtualMachine', name))
}

function keysOfDefinition({ ref }: Delta<NetworkAttachmentDefinition>, { instances }: MachineCache) {
  const named = instances.by('nad', nameKey(ref))
  const inNamespace = instances.by('nad', `${ref.namespace ?? ''}/`)
  return [...new Set([...named, ...inNamespace])].map(({ metadata }) => KEYS.format('VirtualMachine', metadata))
}

function machinesOfPod({ ref, before, now }: Delta<ClaimPod>): readonly string[] {
  const machines = [before, now].flatMap((entry) => (entry?.ok === true ? (entry.value.machine ?? []) : []))
  return [...new Set(machines)].map((name) => KEYS.format('VirtualMachine', { ...ref, name }))
}

/** The machines of the claims that a Pod has named and no longer names. */
function keysOfPod(delta: Delta<ClaimPod>, { claims }: MachineCache): readonly string[] {
  const machines = claimsLeftBy(delta, claims).flatMap((name) => {
    const claim = claims.get(name)
    return claim === undefined ? [] : vmsOfClaim(claim).map((vm) => nameKey({ ...claim.metadata, name: vm }))
  })
  return machines.map((name) => KEYS.format('VirtualMachine', name))
}
