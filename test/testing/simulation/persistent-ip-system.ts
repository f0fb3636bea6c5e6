import { Pod, StatefulSet } from 'ipam-kit/crd/core'
import { IPAMClaim, VM_CLAIM_FINALIZER, vmClaimName } from 'ipam-kit/crd/ipamclaims'
import { VirtualMachine, VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import { hasFinalizer, isDeleting, type KindInfo, type KubeObject, refOf } from 'ipam-kit/crd/meta'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { unwrap } from 'ipam-kit/errors'
import type { Change } from 'ipam-kit/plan'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { CLAIM_OWNER_FINALIZER, persistentClaims, workloadClaims } from 'ipam-kit/provider/persistent-ip'
import type { Store } from 'ipam-kit/store'
import type { Dice, ObservedWrite, SimulatedSystem, SimulationRules } from 'ipam-kit/testing'
import { claimingPod, instance, machine, nad, networksOf, statefulSet } from '../../provider/persistent-ip/objects.js'
import { Combined } from './combined.js'

const KINDS: readonly KindInfo[] = [VirtualMachine, VirtualMachineInstance, IPAMClaim, Pod, StatefulSet].map(
  ({ info }) => info,
)
const NADS = NetworkAttachmentDefinition.info
/** The claims of `a` in `b.x` and of `a.b` in `x` have one name. */
const MACHINES = ['a', 'a.b']
const NETWORKS = ['x=blue', 'y=red', 'b.x=blue', 'y_=red']
const PROPAGATIONS = ['Background', 'Foreground', 'Orphan'] as const

/**
 * The claims of virtual machines and of a StatefulSet. People start, stop and delete machines in all
 * three ways, and make them again under one name; they plug interfaces, and delete claims. KubeVirt
 * does what follows from that. A garbage collector runs beside the planners.
 *
 * Always: no claim loses its finalizer while its owner uses it, and no claim of another author is
 * changed. At rest: each interface of an instance has a claim or a reason why not, and no claim is
 * left of what has ended.
 */
export function persistentIPSystem(): SimulatedSystem {
  return {
    kinds: [...KINDS, NADS],
    planner: () =>
      new Combined([
        persistentClaims({ graceSeconds: 2 }),
        workloadClaims({ kinds: [StatefulSet.info], graceSeconds: 2 }),
        gcPlanner({ kinds: KINDS }),
      ]),
    prepare: async (store) => {
      for (const object of [nad('blue'), nad('red'), machine('a', 'x=blue'), statefulSet('web')]) {
        unwrap(await store.create(object))
      }
    },
    act: async (store, dice) => {
      await PEOPLE[dice.below(PEOPLE.length)]?.(store, dice)
      await kubevirt(store, dice)
    },
    rules: () => new PersistentIPRules(),
  }
}

type Act = (store: Store, dice: Dice) => Promise<unknown>

const refTo = ({ apiVersion, kind }: KindInfo, name: string) => ({ apiVersion, kind, namespace: 'ns1', name })

async function get(store: Store, info: KindInfo, name: string): Promise<KubeObject | undefined> {
  const found = await store.get(refTo(info, name))
  return found.ok ? found.value : undefined
}

function someNetworks(dice: Dice): readonly string[] {
  return NETWORKS.filter(() => dice.chance(0.5))
}

/** What people do, each as often as the others. */
const PEOPLE: readonly Act[] = [
  (store, dice) => store.create(machine(dice.pick(MACHINES), ...someNetworks(dice))),
  startMachine,
  startMachine,
  (store, dice) => store.delete(refTo(VirtualMachineInstance.info, dice.pick(MACHINES))),
  deleteMachine,
  plug,
  // an instance without a machine
  (store, dice) => store.create(instance(dice.pick(MACHINES), undefined, ...someNetworks(dice))),
  async (store, dice) => {
    const { items } = unwrap(await store.list(IPAMClaim.info))
    return items.length > 0 && dice.chance(0.3) ? store.delete(refOf(dice.pick(items))) : undefined
  },
  (store, dice) => {
    const { apiVersion, kind } = IPAMClaim.info
    const metadata = { namespace: 'ns1', name: dice.pick(['a.x', 'web-0.blue']) }
    return dice.chance(0.2)
      ? store.create({ apiVersion, kind, metadata, spec: { network: 'z', interface: '' } })
      : none()
  },
  (store, dice) => {
    const name = `web-${dice.below(2)}`
    return store.create(claimingPod(name, `${name}.blue`, 'StatefulSet.apps/web'))
  },
  (store, dice) => store.delete(refTo(Pod.info, `web-${dice.below(2)}`)),
  (store, dice) => store.delete(refTo(StatefulSet.info, 'web'), { propagation: dice.pick(PROPAGATIONS) }),
  (store) => store.create(statefulSet('web')),
]

async function none(): Promise<undefined> {
  return undefined
}

async function startMachine(store: Store, dice: Dice): Promise<void> {
  const name = dice.pick(MACHINES)
  const found = await get(store, VirtualMachine.info, name)
  if (found === undefined || isDeleting(found)) return
  const networks = VirtualMachine.parse(found).spec.template.spec?.networks ?? []
  const made = instance(name, found)
  await store.create({ ...made, spec: { networks } })
}

async function deleteMachine(store: Store, dice: Dice): Promise<void> {
  const ref = refTo(VirtualMachine.info, dice.pick(MACHINES))
  const propagation = dice.pick(PROPAGATIONS)
  const deleted = await store.delete(ref, { propagation })
  // KubeVirt lets an orphaned instance alone
  if (deleted.ok && propagation === 'Orphan') await unhold(store, await get(store, VirtualMachine.info, ref.name))
}

async function plug(store: Store, dice: Dice): Promise<void> {
  const name = dice.pick(MACHINES)
  const networks = networksOf(...someNetworks(dice)) as never
  await store.patch(refTo(VirtualMachine.info, name), { spec: { template: { spec: { networks } } } })
  await store.patch(refTo(VirtualMachineInstance.info, name), { spec: { networks } })
}

/** Removes the finalizer of KubeVirt. */
async function unhold(store: Store, object: KubeObject | undefined): Promise<void> {
  if (object === undefined) return
  const { finalizers = [] } = object.metadata
  const left = finalizers.filter((each) => !/^(kubevirt.io\/virtual|foregroundDeleteV)/u.test(each))
  await store.patch(refOf(object), { metadata: { finalizers: left } })
}

/** What KubeVirt does with what is being deleted, one step of it. */
async function kubevirt(store: Store, dice: Dice): Promise<void> {
  for (const name of MACHINES) {
    if (dice.chance(0.4)) continue
    const [vm, vmi] = [await get(store, VirtualMachine.info, name), await get(store, VirtualMachineInstance.info, name)]
    if (vmi !== undefined && isDeleting(vmi)) {
      const isEmpty = Object.keys(VirtualMachineInstance.parse(vmi).status?.activePods ?? {}).length === 0
      if (isEmpty) await unhold(store, vmi)
      else await store.patch(refOf(vmi), { status: { activePods: null } })
    } else if (vm !== undefined && isDeleting(vm)) {
      if (vmi === undefined) await unhold(store, vm)
      else if (vmi.metadata.ownerReferences?.some(({ uid }) => uid === vm.metadata.uid)) await store.delete(refOf(vmi))
    }
  }
}

class PersistentIPRules implements SimulationRules {
  readonly #objects = new Map<string, KubeObject>()
  /** By the name of a Pod: the number of the change that has created it. */
  readonly #since = new Map<string, number>()
  #count = 0

  observe(change: Change, { by }: ObservedWrite): string | undefined {
    const at = this.#count++
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    const key = `${ref.kind} ${ref.name}`
    const before = this.#objects.get(key)
    const now = change.kind === 'present' ? change.object : undefined
    if (before === undefined && ref.kind === 'Pod') this.#since.set(ref.name, at)
    if (now === undefined) this.#objects.delete(key)
    else this.#objects.set(key, now)
    if (by === undefined || ref.kind !== 'IPAMClaim' || before === undefined) return undefined
    if (isForeign(before)) return `${ref.name} is changed, which the planners have not made`
    const lost = (finalizer: string) =>
      hasFinalizer(before, finalizer) && (now === undefined || !hasFinalizer(now, finalizer))
    if (lost(VM_CLAIM_FINALIZER) && this.#isUsed(before)) return `${ref.name} is released while its machine uses it`
    if (lost(CLAIM_OWNER_FINALIZER) && this.#isOwned(before, by.knows)) return `${ref.name} is released in use`
    return undefined
  }

  async atRest(): Promise<string | undefined> {
    return this.#left() ?? this.#lacking()
  }

  #named(info: KindInfo, name: string): KubeObject | undefined {
    return this.#objects.get(`${info.kind} ${name}`)
  }

  /** The uids of machines and instances that need their claims. */
  #users(): ReadonlySet<string | undefined> {
    const users = MACHINES.flatMap((name) => {
      const [vm, vmi] = [this.#named(VirtualMachine.info, name), this.#named(VirtualMachineInstance.info, name)]
      const pods = Object.keys(
        (vmi === undefined ? undefined : VirtualMachineInstance.parse(vmi).status?.activePods) ?? {},
      )
      const isEnding = vm === undefined && vmi !== undefined && isDeleting(vmi) && pods.length === 0
      const ofVMI = isEnding ? undefined : vmi
      const ofVM = vm !== undefined && (!isDeleting(vm) || vmi !== undefined) ? vm : undefined
      return [ofVM, ofVMI].map((object) => object?.metadata.uid)
    })
    return new Set(users.filter((uid) => uid !== undefined))
  }

  #isUsed(claim: KubeObject): boolean {
    const users = this.#users()
    return claim.metadata.ownerReferences?.some(({ uid }) => users.has(uid)) === true
  }

  /** Whether an owner exists, or a Pod that the writer knew and that is not younger. */
  #isOwned(claim: KubeObject, knows: number): boolean {
    const { ownerReferences = [], deletionTimestamp = '~', name } = claim.metadata
    if (ownerReferences.some(({ uid }) => this.#named(StatefulSet.info, 'web')?.metadata.uid === uid)) return true
    const pod = this.#named(Pod.info, name.replace('.blue', ''))
    if (pod === undefined || (this.#since.get(pod.metadata.name) ?? 0) >= knows) return false
    return (pod.metadata.creationTimestamp ?? '') <= deletionTimestamp
  }

  #claims(): readonly KubeObject[] {
    return [...this.#objects.values()].filter(({ kind }) => kind === 'IPAMClaim')
  }

  /** A claim that should have been released. */
  #left(): string | undefined {
    const users = this.#users()
    for (const claim of this.#claims()) {
      const { name, labels = {}, ownerReferences = [] } = claim.metadata
      const vm = labels['kubevirt.io/vm'] ?? ''
      if (hasFinalizer(claim, VM_CLAIM_FINALIZER)) {
        const exists = [VirtualMachine, VirtualMachineInstance].some(({ info }) =>
          users.has(this.#named(info, vm)?.metadata.uid),
        )
        if (!exists) return `${name} is left of the machine ${vm}, which has ended`
        const isGone = ownerReferences.length > 0 && !ownerReferences.some(({ uid }) => this.#exists(uid))
        if (isGone) return `${name} is left of an earlier machine`
      }
      const isOver = isDeleting(claim) && !this.#isOwned(claim, Number.POSITIVE_INFINITY)
      if (hasFinalizer(claim, CLAIM_OWNER_FINALIZER) && isOver) return `${name} is left of an owner that does not exist`
    }
    return undefined
  }

  #exists(uid: string): boolean {
    return [...this.#objects.values()].some(({ metadata }) => metadata.uid === uid)
  }

  /** An interface, or a Pod, that could have a claim. */
  #lacking(): string | undefined {
    const users = this.#users()
    for (const vm of MACHINES) {
      const vmi = this.#named(VirtualMachineInstance.info, vm)
      if (vmi === undefined || !users.has(vmi.metadata.uid)) continue
      for (const { name: network } of VirtualMachineInstance.parse(vmi).spec.networks ?? []) {
        const name = unwrap(vmClaimName({ vm, network }))
        if (this.#named(IPAMClaim.info, name) === undefined) return `${vm} has no claim ${name}`
      }
    }
    const owner = this.#named(StatefulSet.info, 'web')
    const pods = [...this.#objects.values()].filter((object) => object.kind === 'Pod' && !isDeleting(object))
    if (owner === undefined || isDeleting(owner)) return undefined
    const lacks = pods.find(({ metadata }) => this.#named(IPAMClaim.info, `${metadata.name}.blue`) === undefined)
    return lacks && `Pod ${lacks.metadata.name} has no claim`
  }
}

function isForeign({ metadata }: KubeObject): boolean {
  return metadata.labels === undefined && metadata.annotations === undefined
}
