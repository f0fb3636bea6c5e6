import { Pod, StatefulSet } from 'ipam-kit/crd/core'
import { IPAMClaim, VM_CLAIM_FINALIZER, VM_LABEL } from 'ipam-kit/crd/ipamclaims'
import { VirtualMachine, VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import { type KubeObject, refOf } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import type { Dice } from 'ipam-kit/testing'
import { Cluster } from './cluster.js'
import {
  claimOf,
  DEFINITIONS,
  definition,
  hasEnded,
  type Interface,
  instanceOf,
  MAC,
  MACHINES,
  machineOf,
  NADS,
  NETWORKS,
  namespaceOf,
  PRIMARY_CLAIM,
  podOf,
  refTo,
  SWITCH,
  setOf,
  someInterfaces,
  variantsOf,
  vmNetworks,
} from './objects.js'

const PROPAGATIONS = ['Background', 'Foreground', 'Orphan'] as const
const SOLO = 3
const HAND_MADE = 2
/** What tenants write into a status by hand. */
const ADDRESSES: readonly (readonly string[])[] = [
  ['10.0.0.3/29', 'fd00::3/125'],
  ['10.0.0.2/29', 'fd00::2/125'],
  ['fd00::1/125', '10.0.0.1/29'],
  ['10.0.0.5/29'],
  ['10.1.0.2/29'],
  ['10.0.0.2/29'],
  ['10.0.0.9/29', 'fd00::9/125'],
  ['10.0.0.4/29', '10.0.0.4/29'],
  ['10.0.0.6/0'],
  ['10.0.0.1/29', 'x'],
  ['x'],
  [],
]
/** How many steps at the end bring the cluster to rest. */
const LAST = 3

/** What is switched, as operators want it. */
export interface Setting {
  isOn: boolean
}

type Act = (people: People) => Promise<unknown>

/** The owners of machines, tenants and operators. */
export class People {
  readonly #store: Store
  readonly #dice: Dice
  readonly #setting: Setting
  readonly #cluster: Cluster
  #left: number

  constructor(store: Store, dice: Dice, { setting, actions }: { readonly setting: Setting; readonly actions: number }) {
    this.#store = store
    this.#dice = dice
    this.#setting = setting
    this.#left = actions
    this.#cluster = new Cluster(store, dice)
  }

  async prepare(): Promise<void> {
    const settings = {
      apiVersion: SWITCH.apiVersion,
      kind: SWITCH.kind,
      metadata: { namespace: 'ns1', name: 'switch' },
    }
    const objects = [
      settings,
      definition('blue'),
      definition('red'),
      definition('green'),
      machineOf('ns1', 'a', ['x=blue']),
      setOf('web', 2),
    ]
    for (const object of objects) unwrap(await this.#store.create(object))
  }

  async act(): Promise<void> {
    this.#left--
    if (this.#left >= LAST) {
      await this.#dice.pick(ACTS)(this)
      await this.#cluster.step()
    } else if (this.#left === LAST - 1) await this.#mend()
    else if (this.#left === 0 && this.#dice.chance(0.4)) await this.#endAll()
    else await this.#cluster.settle()
  }

  /** In the end most things are as they should be. */
  async #mend(): Promise<void> {
    this.#cluster.hasWebhook = true
    if (this.#dice.chance(0.8)) for (const name of ['blue', 'red', 'green']) await this.define(name, 0)
    await this.switch(this.#dice.chance(0.85))
  }

  /** All workloads end, and so do claims that are made by hand. */
  async #endAll(): Promise<void> {
    for (const { info } of [VirtualMachine, StatefulSet, VirtualMachineInstance, Pod]) {
      for (const object of await this.#cluster.list(info)) await this.#store.delete(refOf(object))
    }
    await this.#cluster.settle()
    for (const claim of await this.#cluster.list(IPAMClaim.info)) {
      if ((claim.metadata.ownerReferences ?? []).length === 0) await this.#store.delete(refOf(claim))
    }
  }

  async switch(isOn: boolean): Promise<void> {
    this.#setting.isOn = isOn
    await this.#store.patch(refTo(SWITCH, 'ns1', 'switch'), { data: { isOn: String(isOn) } })
  }

  async makeMachine(): Promise<void> {
    const [namespace, name] = this.#dice.pick(MACHINES)
    await this.#store.create(machineOf(namespace, name, this.#interfaces()))
  }

  async makeInstance(): Promise<void> {
    const [namespace, name] = this.#dice.pick(MACHINES)
    const networks = vmNetworks(namespace, this.#interfaces())
    await this.#store.create(instanceOf(namespace, name, undefined, networks, this.#dice.chance(0.3)))
  }

  #interfaces(): readonly string[] {
    return someInterfaces((probability) => this.#dice.chance(probability))
  }

  start(): Promise<void> {
    return this.#cluster.start(...this.#dice.pick(MACHINES))
  }

  async stop(): Promise<void> {
    await this.#store.delete(refTo(VirtualMachineInstance.info, ...this.#dice.pick(MACHINES)))
  }

  migrate(): Promise<void> {
    return this.#cluster.migrate(...this.#dice.pick(MACHINES))
  }

  async deleteMachine(): Promise<void> {
    const [namespace, name] = this.#dice.pick(MACHINES)
    const propagation = this.#dice.pick(PROPAGATIONS)
    const deleted = await this.#store.delete(refTo(VirtualMachine.info, namespace, name), { propagation })
    if (!deleted.ok) return
    const machine = await this.#cluster.get(VirtualMachine.info, namespace, name)
    // KubeVirt lets an orphaned instance alone
    if (propagation === 'Orphan' && machine !== undefined) await this.#cluster.unhold(machine)
    // made again at once
    if (this.#dice.chance(0.3)) await this.#store.create(machineOf(namespace, name, this.#interfaces()))
  }

  async plug(): Promise<void> {
    const [namespace, name] = this.#dice.pick(MACHINES)
    const networks = vmNetworks(namespace, this.#interfaces())
    await this.#store.patch(refTo(VirtualMachine.info, namespace, name), { spec: { template: { spec: { networks } } } })
    await this.#store.patch(refTo(VirtualMachineInstance.info, namespace, name), { spec: { networks } })
  }

  async failPod(): Promise<void> {
    const pods = (await this.#cluster.list(Pod.info)).filter((pod) => !hasEnded(pod))
    if (pods.length > 0) await this.#cluster.end(this.#dice.pick(pods), this.#dice.pick(['Succeeded', 'Failed']))
  }

  async deletePod(): Promise<void> {
    const pods = await this.#cluster.list(Pod.info)
    if (pods.length > 0) await this.#store.delete(refOf(this.#dice.pick(pods)))
  }

  /** A Pod without a machine: without a claim, with one made by hand, or with that of another. */
  async makePod(): Promise<void> {
    const claims = (await this.#cluster.list(IPAMClaim.info)).map(({ metadata }) => metadata.name)
    const claim = () => {
      if (this.#dice.chance(0.6)) return undefined
      return this.#dice.pick(['hand-0', 'hand-1', ...claims])
    }
    const nads = ['ns1/blue', 'ns1/red', 'ns1/also']
    const interfaces: Interface[] = [{ nad: this.#dice.pick(nads), claim: claim(), ...this.#requests() }]
    if (this.#dice.chance(0.3)) interfaces.push({ nad: this.#dice.pick(nads.slice(0, 2)), claim: claim() })
    const primary = this.#dice.chance(0.5) ? claim() : undefined
    const pod = podOf(this.#dice.pick(['ns1', 'ns1', 'ns2']), `solo-${this.#dice.below(SOLO)}`, interfaces, {
      annotations: primary === undefined ? {} : { [PRIMARY_CLAIM]: primary },
    })
    if (!this.#dice.chance(0.05)) return void (await this.#store.create(pod))
    const annotations = { [NETWORKS]: '[{"name":"blue","interface":1}]' }
    await this.#store.create({ ...pod, metadata: { ...pod.metadata, annotations } })
  }

  /** What an interface asks for. */
  #requests(): Pick<Interface, 'ips' | 'mac'> {
    return {
      ips: this.#dice.chance(0.15) ? this.#dice.pick(ADDRESSES.slice(0, 7)) : undefined,
      mac: this.#dice.chance(0.15) ? MAC : undefined,
    }
  }

  /** A claim without an owner, with a status that a tenant has written, or without one. */
  async makeClaim(): Promise<void> {
    const name = this.#dice.chance(0.8) ? `hand-${this.#dice.below(HAND_MADE)}` : 'a.x'
    const network = this.#dice.pick(['lab', 'lab', 'red', 'z'])
    const claim = claimOf('ns1', name, network)
    const { ips } = this.#requests()
    const spec = { ...(claim.spec as object), ...(ips && { ipRequests: [...ips] }) }
    const made = await this.#store.create({ ...claim, spec })
    if (made.ok && this.#dice.chance(0.5)) await this.#writeStatus(made.value)
  }

  async #writeStatus(claim: KubeObject): Promise<void> {
    const status = { ips: [...this.#dice.pick(ADDRESSES)], ownerPod: { name: 'never-was' } }
    await this.#store.patch(refOf(claim), { status }, { subresource: 'status' })
  }

  async editStatus(): Promise<void> {
    const claims = await this.#cluster.list(IPAMClaim.info)
    if (claims.length > 0 && this.#dice.chance(0.5)) await this.#writeStatus(this.#dice.pick(claims))
  }

  async deleteClaim(): Promise<void> {
    const claims = await this.#cluster.list(IPAMClaim.info)
    if (claims.length > 0 && this.#dice.chance(0.5)) await this.#store.delete(refOf(this.#dice.pick(claims)))
  }

  /** An instance of `ns1` is received in `ns2`: its claim comes with its addresses. */
  async receive(): Promise<void> {
    const source = await this.#cluster.get(IPAMClaim.info, 'ns1', 'a.x')
    const { network } = (source?.spec ?? {}) as { readonly network?: string }
    if (source === undefined || network === undefined) return
    const received = instanceOf('ns2', 'a', undefined, vmNetworks('ns2', ['x=blue']))
    if (!(await this.#store.create(received)).ok) return
    const metadata = { labels: { [VM_LABEL]: 'a' }, finalizers: [VM_CLAIM_FINALIZER] }
    const made = await this.#store.create(claimOf('ns2', 'a.x', network, metadata))
    const { ips } = (source.status ?? {}) as { readonly ips?: readonly string[] }
    if (!made.ok || ips === undefined) return
    await this.#store.patch(refOf(made.value), { status: { ips: [...ips] } }, { subresource: 'status' })
  }

  async scale(): Promise<void> {
    const replicas = this.#dice.below(3)
    await this.#store.patch(refTo(StatefulSet.info, 'ns1', 'web'), { spec: { replicas } })
  }

  async deleteSet(): Promise<void> {
    await this.#store.delete(refTo(StatefulSet.info, 'ns1', 'web'), { propagation: this.#dice.pick(PROPAGATIONS) })
  }

  async makeSet(): Promise<void> {
    await this.#store.create(setOf('web', 2))
  }

  async changeDefinition(): Promise<void> {
    const name = this.#dice.pick(DEFINITIONS)
    if (this.#dice.chance(0.3)) await this.#store.delete(refTo(NADS, namespaceOf(name), name))
    else await this.define(name, this.#dice.below(variantsOf(name)))
  }

  async define(name: string, variant: number): Promise<void> {
    const { metadata, ...rest } = definition(name, variant)
    const made = await this.#store.create({ ...rest, metadata })
    if (!made.ok) await this.#store.patch(refTo(NADS, namespaceOf(name), name), { spec: rest.spec ?? null })
  }

  async webhook(): Promise<void> {
    this.#cluster.hasWebhook = this.#dice.chance(0.6)
    this.#cluster.failurePolicy = this.#dice.pick(['Ignore', 'Ignore', 'Fail'])
  }

  async operate(): Promise<void> {
    if (this.#dice.chance(0.4)) await this.switch(this.#dice.chance(0.5))
  }
}

/** What people do, each as often as the others. */
const ACTS: readonly Act[] = [
  (people) => people.makeMachine(),
  (people) => people.makeMachine(),
  (people) => people.makeInstance(),
  (people) => people.start(),
  (people) => people.start(),
  (people) => people.start(),
  (people) => people.stop(),
  (people) => people.migrate(),
  (people) => people.migrate(),
  (people) => people.deleteMachine(),
  (people) => people.deleteMachine(),
  (people) => people.plug(),
  (people) => people.failPod(),
  (people) => people.deletePod(),
  (people) => people.makePod(),
  (people) => people.makePod(),
  (people) => people.makeClaim(),
  (people) => people.editStatus(),
  (people) => people.deleteClaim(),
  (people) => people.receive(),
  (people) => people.scale(),
  (people) => people.deleteSet(),
  (people) => people.makeSet(),
  (people) => people.changeDefinition(),
  (people) => people.webhook(),
  (people) => people.operate(),
]
