import { Pod } from 'ipam-kit/crd/core'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import type { Dice } from 'ipam-kit/testing'
import { newPod, type SimulatedPod } from './attachments.js'
import { CLAIM, claimRef, NAMESPACE, PODS, podRef, poolRef, RESERVATION } from './kinds.js'
import type { Kubelet } from './kubelet.js'
import { addressesOf, type Network, poolNameOf, reservationNameOf } from './networks.js'
import type { Rules } from './rules.js'

const NAMES = ['web-0', 'web-1', 'web-2', 'db-0', 'job-0']
/** Pods with a claim. */
const MACHINES = ['vm-0', 'vm-1']
const CLAIMS = ['claim-a', 'claim-b']
/** Owners of reservations that are not to be deleted: none, and a Pod without any row. */
const STRANGERS = ['', 'default/bystander']
/** An owner that does not exist: a sweep deletes its reservations. */
/** The Pod of the ADDs at the end. */
export const PROBE = 'probe'
const NO_POD = 'other/router'

export interface PeopleWorld {
  readonly store: Store
  readonly dice: Dice
  readonly networks: readonly Network[]
  readonly kubelets: readonly Kubelet[]
  readonly rules: Rules
  /**
   * Whether they create no claim and no reservation, delete no pool, and all Pods report their
   * addresses.
   */
  readonly isPlain: () => boolean
  /** What was done, for the schedule. */
  readonly note: (text: string) => void
}

/**
 * People who create and delete Pods and claims, restart containers, and reserve addresses by hand.
 */
export class People {
  readonly #world: PeopleWorld
  /** How long they do nothing next. */
  waitMs = 0

  constructor(world: PeopleWorld) {
    this.#world = world
  }

  /** What is there at the beginning: a Pod with reservations alone, and one for the end. */
  async prepare(): Promise<void> {
    const { apiVersion, kind } = Pod.info
    const { store } = this.#world
    for (const name of ['bystander', PROBE]) {
      unwrap(
        await store.create({ apiVersion, kind, metadata: { namespace: PODS, name }, spec: { nodeName: 'node-1' } }),
      )
    }
  }

  async act(): Promise<void> {
    const { dice, isPlain } = this.#world
    const drawn = dice.next()
    const draw = isPlain() && drawn >= 0.72 && drawn < 0.88 ? 0 : drawn
    if (draw < 0.42) await this.#createPod()
    else if (draw < 0.6) await this.#deletePod()
    else if (draw < 0.68) this.#restart()
    else if (draw < 0.72) this.#complete()
    else if (draw < 0.8) await this.#changeClaim()
    else if (draw < 0.87) await this.#reserve()
    else if (draw < 0.88) await this.#deletePool()
    else if (draw < 0.91) dice.pick(this.#world.kubelets).collect(dice.pick(this.#world.networks))
    else this.#wait()
  }

  /** Everything is deleted; nothing is to be left. */
  async deleteAll(): Promise<void> {
    const { store, kubelets } = this.#world
    for (const kubelet of kubelets) {
      for (const pod of kubelet.pods) pod.wanted = 'gone'
    }
    for (const claim of CLAIMS) await store.delete(claimRef(claim))
    for (const name of [...NAMES, ...MACHINES]) await this.deleteObject(name)
  }

  /** Deletes the object of a Pod whose containers have ended. */
  async deleteObject(name: string): Promise<void> {
    const { store } = this.#world
    await store.patch(podRef(name), { metadata: { finalizers: null } })
    await store.delete(podRef(name))
  }

  async #createPod(): Promise<void> {
    const { store, dice, kubelets, networks, note, isPlain } = this.#world
    const isClaiming = dice.chance(0.4) && !isPlain()
    const name = dice.pick(isClaiming ? MACHINES : NAMES)
    const candidates = kubelets.filter(({ flavor }) => !isClaiming || flavor === 'ours')
    if (candidates.length === 0) return
    const kubelet = dice.pick(candidates)
    const { apiVersion, kind } = Pod.info
    const isGraceful = dice.chance(0.7)
    const metadata = { namespace: PODS, name, ...(isGraceful && { finalizers: ['kubelet/containers'] }) }
    const spec = { nodeName: kubelet.name }
    const created = await store.create({ apiVersion, kind, metadata, spec, status: { phase: 'Pending' } })
    if (!created.ok) return
    const claim = isClaiming ? dice.pick(['claim-a', ...CLAIMS]) : undefined
    if (claim !== undefined && dice.chance(0.8)) await this.#createClaim(claim)
    // an interface with a claim is always of the first network
    const interfaces: SimulatedPod['interfaces'] = Array.from(
      { length: isClaiming ? 1 : dice.pick([1, 1, 2]) },
      (_, nth) => ({
        ifname: `net${nth + 1}`,
        network: claim === undefined ? dice.pick(networks) : (networks[0] as Network),
        ...(claim !== undefined && { claim }),
      }),
    )
    const uid = created.value.metadata.uid as string
    const told = dice.pick(['at once', 'at once', 'late', 'late', 'late', 'never', 'no JSON'] as const)
    const tells = isPlain() ? 'late' : told
    kubelet.pods.push(newPod({ name, uid, node: kubelet.name, interfaces, tells }))
    note(`creates ${name} on ${kubelet.name}: ${interfaces.map(({ network }) => network.name).join()} ${claim ?? ''}`)
  }

  async #deletePod(): Promise<void> {
    const { store, dice, note } = this.#world
    const [kubelet, pod] = this.#pickPod() ?? []
    if (pod === undefined) {
      // one that has ended, and whose object is left
      return this.deleteObject(dice.pick([...NAMES, ...MACHINES]))
    }
    note(`deletes ${pod.name}`)
    const isForced = dice.chance(0.3)
    pod.wanted = isForced ? 'forced' : 'gone'
    if (isForced) {
      kubelet?.stop(pod)
      await store.patch(podRef(pod.name), { metadata: { finalizers: null } })
    }
    await store.delete(podRef(pod.name))
  }

  #restart(): void {
    const [kubelet, pod] = this.#pickPod() ?? []
    if (pod === undefined) return
    this.#world.note(`restarts the sandbox of ${pod.name}`)
    kubelet?.stop(pod)
  }

  #complete(): void {
    const [, pod] = this.#pickPod((each) => each.name === 'job-0') ?? []
    if (pod?.sandbox?.attachments.every(({ state }) => state === 'live')) pod.wanted = 'complete'
  }

  async #changeClaim(): Promise<void> {
    const { store, dice, note } = this.#world
    const name = dice.pick(CLAIMS)
    if (dice.chance(0.6)) return this.#createClaim(name)
    await store.delete(claimRef(name))
    note(`deletes ${name}`)
  }

  async #createClaim(name: string): Promise<void> {
    const { store, networks, note } = this.#world
    const { apiVersion, kind } = CLAIM
    const spec = { network: (networks[0] as Network).name, interface: 'net1' }
    const created = await store.create({ apiVersion, kind, metadata: { namespace: PODS, name }, spec })
    if (created.ok) note(`creates ${name}`)
  }

  /** An empty pool is deleted: the next ADD creates another one under its name. */
  async #deletePool(): Promise<void> {
    const { store, dice, networks, note } = this.#world
    const network = dice.pick(networks)
    const ref = poolRef(poolNameOf(network, dice.pick(network.ranges)))
    const found = await store.get(ref)
    if (!found.ok) return
    const { allocations = {} } = found.value.spec as { readonly allocations?: object }
    if (Object.keys(allocations).length > 0) return
    await store.delete(ref)
    note(`deletes the pool ${ref.name}`)
  }

  async #reserve(): Promise<void> {
    const { store, dice, networks, rules, note } = this.#world
    const network = dice.pick(networks)
    if (!network.overlap || rules.foreign.size >= 2) return
    const address = dice.pick(network.ranges.flatMap((range) => addressesOf(network, range, 'ours')))
    const name = reservationNameOf(network, address)
    const podref = dice.pick([...STRANGERS, NO_POD])
    // not an address that an interface is about to get: its reservation is its own
    if (rules.stored.allRows.some((row) => row.address === address)) return
    const { apiVersion, kind } = RESERVATION
    const created = await store.create({ apiVersion, kind, metadata: { namespace: NAMESPACE, name }, spec: { podref } })
    if (!created.ok) return
    if (podref !== NO_POD) rules.foreign.set(name, podref)
    note(`reserves ${name} for ${podref || 'no one'}`)
  }

  #wait(): void {
    const { dice, kubelets } = this.#world
    if (kubelets.every((kubelet) => kubelet.mayWait)) this.waitMs = dice.pick([10_000, 60_000, 120_000, 600_000])
  }

  #pickPod(wanted: (pod: SimulatedPod) => boolean = () => true): readonly [Kubelet, SimulatedPod] | undefined {
    const { dice, kubelets } = this.#world
    const pods = kubelets.flatMap((kubelet) => kubelet.pods.filter(wanted).map((pod) => [kubelet, pod] as const))
    const running = pods.filter(([, pod]) => pod.wanted === 'running')
    return running.length === 0 ? undefined : dice.pick(running)
  }
}
