import type { VirtualMachine, VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import type { KubeObject, OwnerReference } from 'ipam-kit/crd/meta'
import { type ClaimStep, vmClaimDecision, vmClaims, vmPhase } from 'ipam-kit/provider/persistent-ip'
import { describe, expect, test } from 'vitest'
import { nad, networksOf } from '../objects.js'

// Every state of one machine, its instance and one claim, in which all that the rules name differs.
// What is checked is written from the reference alone, and not from the code.

const TIME = '2026-01-01T00:00:00Z'
/** The uids of the machine, of its instance, and of an earlier machine of the name. */
const [MACHINE, INSTANCE, EARLIER] = ['m', 'i', 'e']
const KUBEVIRT = 'kubevirt.io/v1'

interface State {
  readonly machine: 'none' | 'live' | 'deleting'
  readonly instance: 'none' | 'live' | 'deleting' | 'ending'
  /** The owner of the instance. */
  readonly by: readonly string[]
  /** The owners of the claim; `undefined`: there is no claim. */
  readonly owners: readonly string[] | undefined
  readonly isDeleting: boolean
  readonly hasFinalizer: boolean
  readonly network: string
  readonly label: string | undefined
  readonly plugged: 'off' | 'yes' | 'no'
  readonly unplugged: 'keep' | 'delete'
}

function* states(): Generator<State> {
  const flags = [false, true]
  for (const machine of ['none', 'live', 'deleting'] as const)
    for (const instance of ['none', 'live', 'deleting', 'ending'] as const)
      for (const by of instance === 'none' ? [[]] : [[], [MACHINE], [EARLIER]])
        for (const owners of [undefined, [], [MACHINE], [INSTANCE], [EARLIER], [MACHINE, EARLIER]])
          for (const isDeleting of flags)
            for (const hasFinalizer of flags)
              for (const network of ['net-blue', 'net-red'])
                for (const label of ['vm1', 'vm2', undefined])
                  for (const plugged of ['off', 'yes', 'no'] as const)
                    for (const unplugged of ['keep', 'delete'] as const)
                      yield {
                        ...{ machine, instance, by, owners, isDeleting },
                        ...{ hasFinalizer, network, label, plugged, unplugged },
                      }
}

const ownerOf = (uid: string): OwnerReference => ({
  apiVersion: KUBEVIRT,
  kind: uid === INSTANCE ? 'VirtualMachineInstance' : 'VirtualMachine',
  name: 'vm1',
  uid,
  controller: true,
  blockOwnerDeletion: true,
})

function machineOf({ machine }: State): VirtualMachine | undefined {
  if (machine === 'none') return undefined
  const metadata = { namespace: 'ns1', name: 'vm1', uid: MACHINE }
  return {
    apiVersion: KUBEVIRT,
    kind: 'VirtualMachine',
    metadata: machine === 'live' ? metadata : { ...metadata, deletionTimestamp: TIME },
    spec: { template: {} },
  }
}

function instanceOf({ instance, by, plugged }: State): VirtualMachineInstance | undefined {
  if (instance === 'none') return undefined
  const metadata = { namespace: 'ns1', name: 'vm1', uid: INSTANCE, ownerReferences: by.map(ownerOf) }
  const state = plugged === 'no' ? 'absent' : 'up'
  return {
    apiVersion: KUBEVIRT,
    kind: 'VirtualMachineInstance',
    metadata: instance === 'live' ? metadata : { ...metadata, deletionTimestamp: TIME },
    spec: { networks: networksOf('blue'), domain: { devices: { interfaces: [{ name: 'blue', state }] } } },
    status: { activePods: instance === 'ending' ? {} : { p1: 'n1' } },
  }
}

function claimOf({ owners, isDeleting, hasFinalizer, network, label }: State): KubeObject | undefined {
  if (owners === undefined) return undefined
  return {
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: {
      namespace: 'ns1',
      name: 'vm1.blue',
      uid: 'c',
      ...(label !== undefined && { labels: { 'kubevirt.io/vm': label } }),
      ...(isDeleting && { deletionTimestamp: TIME }),
      finalizers: hasFinalizer ? ['kubevirt.io/persistent-ipam'] : [],
      ownerReferences: owners.map(ownerOf),
    },
    spec: { network, interface: '' },
  }
}

function stepsOf(state: State): readonly ClaimStep[] {
  const [machine, instance, claim] = [machineOf(state), instanceOf(state), claimOf(state)]
  const definition = nad('blue') as never
  const wanted = instance && vmClaims(instance, { definition: () => definition, definitionsIn: () => [] })
  return vmClaimDecision({
    namespace: 'ns1',
    name: 'vm1',
    machine,
    instance,
    wanted: state.plugged === 'off' ? undefined : wanted,
    claims: claim === undefined ? [] : [claim],
    unplugged: state.unplugged,
    isInUse: () => false,
  }).steps
}

/** The table of section 2.1 of the reference: whether the claims of a name are released. */
function isClean({ machine, instance }: State): boolean {
  if (machine === 'live') return false
  return instance === 'none' || (machine === 'none' && instance === 'ending')
}

function isRunning(state: State): boolean {
  return state.instance !== 'none' && !isClean(state)
}

/** The uid that the claims of a machine that runs are owned by. */
function rightOwner({ machine }: State): string {
  return machine === 'none' ? INSTANCE : MACHINE
}

function isOwnerGoing({ machine, instance }: State): boolean {
  return machine === 'none' ? instance !== 'live' : machine === 'deleting'
}

/** The uids that exist, with the owner of the instance: its machine may be unknown. */
function living({ machine, instance, by }: State): readonly string[] {
  return [...(machine === 'none' ? [] : [MACHINE]), ...(instance === 'none' ? [] : [INSTANCE, ...by])]
}

/** Whether the instance has ended, and its deletion in foreground waits for the claim. */
function isWaitedFor({ instance, owners, isDeleting }: State): boolean {
  return instance === 'ending' && owners?.join() === INSTANCE && isDeleting
}

const isOfMachine = ({ owners = [], label }: State) => owners.length > 0 || label === 'vm1'
const isOwned = (state: State) => state.owners?.join() === rightOwner(state)

type Rule = (state: State, kinds: readonly ClaimStep['kind'][], steps: readonly ClaimStep[]) => boolean

const rules: { readonly [rule: string]: Rule } = {
  'phases are those of upstream': (state) =>
    (vmPhase({ machine: machineOf(state), instance: instanceOf(state) }) === 'ended') === isClean(state),
  'a release needs an ended machine, or a claim that is being deleted whose owners do not exist': (state, kinds) =>
    !kinds.includes('release') ||
    isClean(state) ||
    isWaitedFor(state) ||
    (state.isDeleting && state.owners?.length !== 0 && !state.owners?.some((uid) => living(state).includes(uid))),
  'claims of an ended machine lose their finalizer': (state, kinds) =>
    !(isClean(state) && state.owners !== undefined && state.hasFinalizer && isOfMachine(state)) ||
    kinds.join() === 'release',
  'an instance that is deleted in foreground does not wait for its claims': (state, kinds) =>
    !(isWaitedFor(state) && state.hasFinalizer) || kinds.includes('release'),
  'a release proves that the objects do not exist which are not known': (state, _, steps) =>
    steps.every((step) => {
      if (step.kind !== 'release') return true
      const absent = step.proofs.flatMap((proof) => ('absent' in proof ? [proof.absent] : []))
      const proven = (kind: string) => absent.some(({ ref }) => ref.kind === kind && ref.name === 'vm1')
      const noInstance = state.instance !== 'none' || proven('VirtualMachineInstance')
      if (isWaitedFor(state) && !isClean(state)) return step.proofs.some((proof) => 'unchanged' in proof)
      if (!isClean(state)) return noInstance && state.owners?.every((uid) => absent.some((each) => each.uid === uid))
      return noInstance && (state.machine !== 'none' || proven('VirtualMachine'))
    }),
  'a claim of a name is made only if none exists': (state, kinds) =>
    kinds.includes('make') === (state.owners === undefined && isRunning(state) && state.plugged === 'yes'),
  'an interface has one claim, or one reason why not': (state, kinds) =>
    !isRunning(state) ||
    state.plugged !== 'yes' ||
    kinds.filter((kind) => kind !== 'release' && kind !== 'remove').length === 1,
  'a claim is right for an interface by its owner, its network, and as it is not being deleted': (state, kinds) =>
    !(isRunning(state) && state.plugged === 'yes' && kinds.includes('keep')) ||
    (isOwned(state) && (isOwnerGoing(state) || (!state.isDeleting && state.network === 'net-blue'))),
  'a right claim is not refused': (state, kinds) =>
    !(isOwned(state) && isRunning(state) && !state.isDeleting && state.network === 'net-blue') ||
    !kinds.includes('refuse'),
  'the metadata of a claim changes only while it can be kept for an owner that stays': (state, kinds, steps) =>
    !kinds.includes('mend') ||
    (isRunning(state) &&
      !state.isDeleting &&
      !isOwnerGoing(state) &&
      state.owners?.every((uid) => uid === MACHINE || uid === INSTANCE) === true &&
      steps.every(
        (step) =>
          step.kind !== 'mend' || step.metadata.ownerReferences.map(({ uid }) => uid).join() === rightOwner(state),
      )),
  'a claim goes with its interface only if the option says so': (state, kinds) =>
    kinds.includes('remove') ===
    (state.plugged === 'no' && state.unplugged === 'delete' && isRunning(state) && isOwned(state) && !state.isDeleting),
  'off: nothing is made, removed or refused': (state, kinds) =>
    state.plugged !== 'off' || !kinds.some((kind) => kind === 'make' || kind === 'remove' || kind === 'refuse'),
  'a machine that is stopped has its claims as they are': (state, kinds) =>
    isRunning(state) ||
    isClean(state) ||
    kinds.every((kind) => kind === 'keep' || (kind === 'release' && state.isDeleting)),
  'a claim of another machine is left alone': (state, kinds) =>
    isOfMachine(state) || state.owners === undefined || kinds.every((kind) => kind === 'refuse'),
}

describe('every state of a machine and a claim', () => {
  const all = [...states()].map((state) => {
    const steps = stepsOf(state)
    return { state, steps, kinds: steps.map(({ kind }) => kind) }
  })

  test('differs in each step', () => {
    expect(all.length).toBe(25_920)
    expect(new Set(all.flatMap(({ kinds }) => kinds))).toEqual(
      new Set(['make', 'keep', 'mend', 'refuse', 'release', 'remove']),
    )
  })

  test.each(Object.entries(rules))('%s', (_, holds) => {
    const wrong = all.filter(({ state, kinds, steps }) => !holds(state, kinds, steps))
    expect(wrong.slice(0, 2).map(({ state, kinds }) => ({ state, kinds }))).toEqual([])
  })
})
