import type { Meta } from 'ipam-kit/crd'
import { Pod } from 'ipam-kit/crd/core'
import { VirtualMachine, VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import { unwrap } from 'ipam-kit/errors'
import { admitVMPod } from 'ipam-kit/provider/persistent-ip'
import type { Store } from 'ipam-kit/store'
import type { Clock } from '../clock.js'
import {
  definition,
  instanceObject,
  launcherObject,
  machineObject,
  NAMESPACE,
  networksOf,
  podObject,
  refTo,
} from './objects.js'

/** What users and KubeVirt do. Pods of machines pass through the webhook. */
export class Cluster {
  readonly #store: Store
  readonly #clock: Clock

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  async define(): Promise<void> {
    unwrap(await this.#store.create(definition))
  }

  /** Makes a machine, and starts it in a Pod. */
  async create(name: string, pod: string): Promise<void> {
    await this.#add(machineObject(name))
    await this.begin(name, pod)
  }

  async begin(name: string, pod: string): Promise<void> {
    const machine = unwrap(await this.#store.get(refTo(VirtualMachine, name)))
    await this.#add(instanceObject(VirtualMachine.parse(machine)))
    await this.launch(name, pod)
  }

  async end(name: string): Promise<void> {
    unwrap(await this.#store.delete(refTo(VirtualMachineInstance, name)))
  }

  /** @param isTarget whether it is the target of a live migration */
  async launch(name: string, pod: string, isTarget = false): Promise<void> {
    const object = unwrap(await this.#store.get(refTo(VirtualMachineInstance, name)))
    const instance = VirtualMachineInstance.parse(object)
    const launcher = launcherObject(pod, instance, isTarget)
    const objects = {
      instance: () => instance,
      definition: (namespace: string, its: string) =>
        its === 'blue' && namespace === NAMESPACE ? definition : undefined,
      definitionsIn: () => [definition],
    }
    const { admission } = admitVMPod({ operation: 'CREATE', pod: { metadata: launcher.metadata } }, objects)
    await this.#add(launcher)
    // as an API server does before it stores the Pod
    if (admission.allowed && admission.patch !== undefined) {
      unwrap(await this.#store.patch(refTo(Pod, pod), admission.patch))
    }
  }

  /** KubeVirt says so of the target of a migration, and ends the source. */
  async migrated(source: string, target: string): Promise<void> {
    const annotations = { 'kubevirt.io/migration-target-ready-timestamp': new Date(this.#clock.nowMs).toISOString() }
    unwrap(await this.#store.patch(refTo(Pod, target), { metadata: { annotations } }))
    await this.remove(source)
  }

  async remove(pod: string): Promise<void> {
    unwrap(await this.#store.delete(refTo(Pod, pod)))
  }

  /** A Pod of another workload. */
  async other(pod: string, claim?: string): Promise<void> {
    await this.#add(podObject(pod, { annotations: networksOf(claim) }))
  }

  async delete(name: string, propagation: 'Foreground' | 'Orphan' | 'Background'): Promise<void> {
    unwrap(await this.#store.delete(refTo(VirtualMachine, name), { propagation }))
  }

  async #add(object: Meta.KubeObject): Promise<void> {
    this.#clock.tick()
    unwrap(await this.#store.create(object))
  }
}
