import { Pod, StatefulSet } from 'ipam-kit/crd/core'
import { VirtualMachine, VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import { isDeleting, type KindInfo, type KubeObject, refOf } from 'ipam-kit/crd/meta'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { unwrap } from 'ipam-kit/errors'
import { admitVMPod } from 'ipam-kit/provider/persistent-ip'
import type { Store } from 'ipam-kit/store'
import type { Dice } from 'ipam-kit/testing'
import {
  hasEnded,
  instanceOf,
  KUBELET,
  MACHINES,
  MIGRATED,
  NADS,
  NETWORKS,
  podOf,
  refTo,
  selection,
  WORKLOAD,
} from './objects.js'

const [VM, VMI] = [VirtualMachine.info, VirtualMachineInstance.info]

/** What KubeVirt, the controller of StatefulSets, the scheduler, the kubelets and the webhook do. */
export class Cluster {
  /** Whether the webhook answers. A Pod that it does not see is made as it is. */
  hasWebhook = true
  /** Whether a Pod waits for the webhook. */
  failurePolicy: 'Ignore' | 'Fail' = 'Ignore'
  readonly #store: Store
  readonly #dice: Dice
  #pods = 0

  constructor(store: Store, dice: Dice) {
    this.#store = store
    this.#dice = dice
  }

  async list(info: KindInfo): Promise<readonly KubeObject[]> {
    return unwrap(await this.#store.list(info)).items
  }

  async get(info: KindInfo, namespace: string, name: string): Promise<KubeObject | undefined> {
    const found = await this.#store.get(refTo(info, namespace, name))
    return found.ok ? found.value : undefined
  }

  /** One step of all controllers. */
  async step(likely = 0.6): Promise<void> {
    for (const [namespace, name] of MACHINES) if (this.#dice.chance(likely)) await this.#machine(namespace, name)
    if (this.#dice.chance(likely)) await this.#sets()
    for (const pod of await this.list(Pod.info)) if (this.#dice.chance(likely)) await this.#kubelet(pod)
  }

  /** All steps until nothing is left to be done. */
  async settle(): Promise<void> {
    for (let round = 0; round < 6; round++) await this.step(1)
  }

  /** Starts a machine that does not run. */
  async start(namespace: string, name: string): Promise<void> {
    const vm = await this.get(VM, namespace, name)
    if (vm === undefined || isDeleting(vm)) return
    const networks = VirtualMachine.parse(vm).spec.template.spec?.networks ?? []
    await this.#store.create(instanceOf(namespace, name, vm, networks as never, this.#dice.chance(0.3)))
  }

  /** Begins a live migration, if the instance has one Pod. */
  async migrate(namespace: string, name: string): Promise<void> {
    const vmi = await this.get(VMI, namespace, name)
    if (vmi === undefined || isDeleting(vmi)) return
    const active = (await this.podsOf(vmi)).filter((pod) => !hasEnded(pod))
    if (active.length === 1) await this.#launch(vmi, { 'kubevirt.io/migrationJobUID': `m${this.#pods}` })
  }

  /** The Pods of an instance, oldest first. */
  async podsOf(vmi: KubeObject): Promise<readonly KubeObject[]> {
    const pods = await this.list(Pod.info)
    const own = pods.filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === vmi.metadata.uid))
    return own.sort((left, right) => numberOf(left) - numberOf(right))
  }

  async end(pod: KubeObject, phase: 'Succeeded' | 'Failed'): Promise<void> {
    await this.#store.patch(refOf(pod), { status: { phase } }, { subresource: 'status' })
  }

  async #machine(namespace: string, name: string): Promise<void> {
    const [vm, vmi] = [await this.get(VM, namespace, name), await this.get(VMI, namespace, name)]
    if (vmi !== undefined) await this.#instance(vmi)
    if (vm === undefined || !isDeleting(vm)) return
    if (vmi === undefined) await this.unhold(vm)
    else if (vmi.metadata.ownerReferences?.some(({ uid }) => uid === vm.metadata.uid)) {
      await this.#store.delete(refOf(vmi))
    }
  }

  async #instance(vmi: KubeObject): Promise<void> {
    const pods = await this.podsOf(vmi)
    const active = pods.filter((pod) => !hasEnded(pod))
    for (const pod of pods) {
      if ((hasEnded(pod) || isDeleting(vmi)) && !isDeleting(pod)) await this.#store.delete(refOf(pod))
    }
    const uids = Object.fromEntries(active.map(({ metadata }) => [metadata.uid ?? '', 'n1']))
    const before = Object.keys(VirtualMachineInstance.parse(vmi).status?.activePods ?? {})
    const gone = Object.fromEntries(before.filter((uid) => uids[uid] === undefined).map((uid) => [uid, null]))
    if (before.length !== active.length || Object.keys(gone).length > 0) {
      await this.#store.patch(refOf(vmi), { status: { activePods: { ...uids, ...gone } } })
    }
    if (isDeleting(vmi)) {
      if (pods.length === 0) await this.unhold(vmi)
      return
    }
    if (active.length === 0) await this.#launch(vmi)
    const [source, target] = active
    if (source !== undefined && target !== undefined) await this.#handOver(source, target)
    for (const pod of active) await this.#replug(pod, vmi)
  }

  /** A live migration goes on: it fails, or the machine runs in the target before the source ends. */
  async #handOver(source: KubeObject, target: KubeObject): Promise<void> {
    const isDone = target.metadata.annotations?.[MIGRATED] !== undefined
    if (isDone) return this.end(source, 'Succeeded')
    if (this.#dice.chance(0.3)) return this.end(target, 'Failed')
    await this.#store.patch(refOf(target), { metadata: { annotations: { [MIGRATED]: '2026-01-01T00:00:00Z' } } })
  }

  /** Makes a Pod of an instance, which the webhook changes. */
  async #launch(vmi: KubeObject, labels: { readonly [name: string]: string } = {}): Promise<void> {
    const { name, namespace = '', uid = '' } = vmi.metadata
    const { apiVersion, kind } = VMI
    const pod = podOf(namespace, `virt-launcher-${name}-${this.#pods++}`, interfacesOf(vmi), {
      labels: { 'kubevirt.io': 'virt-launcher', ...labels },
      annotations: { 'kubevirt.io/domain': name, [WORKLOAD]: `VirtualMachine ${namespace}/${name}` },
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
    })
    const networks = await this.#admitted('CREATE', pod)
    if (networks === undefined) return
    const { annotations = {} } = pod.metadata
    await this.#store.create({ ...pod, metadata: { ...pod.metadata, annotations: { ...annotations, ...networks } } })
  }

  /** A Pod that runs gets the interfaces of its instance. */
  async #replug(pod: KubeObject, vmi: KubeObject): Promise<void> {
    const before = pod.metadata.annotations?.[NETWORKS]
    const interfaces = interfacesOf(vmi)
    const [plugged, wanted] = [nadsOf(before), interfaces.map(({ nad }) => nad)]
    if (plugged.join() === wanted.join() || isDeleting(pod)) return
    const annotations = { ...pod.metadata.annotations, [NETWORKS]: selection(interfaces) }
    const networks = await this.#admitted('UPDATE', { ...pod, metadata: { ...pod.metadata, annotations } })
    if (networks === undefined) return
    const plain = { [NETWORKS]: selection(interfaces) }
    await this.#store.patch(refOf(pod), { metadata: { annotations: { ...plain, ...networks } } })
  }

  /** The annotations that the webhook sets. `undefined`: it has refused the Pod. */
  async #admitted(
    operation: 'CREATE' | 'UPDATE',
    pod: KubeObject,
  ): Promise<{ readonly [name: string]: string } | undefined> {
    // also a webhook that answers too late, and one that does not know the instance yet
    if (!this.hasWebhook || this.#dice.chance(0.1)) return this.failurePolicy === 'Fail' ? undefined : {}
    const [instances, nads] = [await this.list(VMI), await this.list(NADS)]
    const find = (all: readonly KubeObject[], namespace: string, name: string) =>
      all.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name)
    const definitions = nads.map((nad) => NetworkAttachmentDefinition.parse(nad))
    const { admission } = admitVMPod(
      { operation, pod },
      {
        instance: (namespace, name) => {
          const found = find(instances, namespace, name)
          return found && VirtualMachineInstance.parse(found)
        },
        definition: (namespace, name) => find(definitions, namespace, name) as NetworkAttachmentDefinition | undefined,
        definitionsIn: (namespace) => definitions.filter(({ metadata }) => metadata.namespace === namespace),
      },
      { failurePolicy: this.failurePolicy },
    )
    if (!admission.allowed) return undefined
    const set = admission.patch?.map((one) => [
      one.path.slice('/metadata/annotations/'.length).replace('~1', '/'),
      'value' in one ? String(one.value) : '',
    ])
    return Object.fromEntries(set ?? []) as { readonly [name: string]: string }
  }

  /** Removes the finalizers of KubeVirt. */
  async unhold(object: KubeObject): Promise<void> {
    const { finalizers = [] } = object.metadata
    const left = finalizers.filter((each) => !/^(kubevirt.io\/virtual|foregroundDeleteV)/u.test(each))
    await this.#store.patch(refOf(object), { metadata: { finalizers: left } })
  }

  /** The Pods of each StatefulSet, one for each ordinal. */
  async #sets(): Promise<void> {
    for (const set of await this.list(StatefulSet.info)) {
      const { name, uid = '' } = set.metadata
      const { replicas = 1 } = StatefulSet.parse(set).spec
      for (const pod of await this.list(Pod.info)) {
        if (pod.metadata.annotations?.[WORKLOAD] !== `StatefulSet ns1/${name}`) continue
        const isOver = hasEnded(pod) || numberOf(pod) >= replicas
        if (isOver && !isDeleting(pod) && !isDeleting(set)) await this.#store.delete(refOf(pod))
      }
      if (isDeleting(set)) continue
      const { apiVersion, kind } = StatefulSet.info
      for (let nth = 0; nth < replicas; nth++) {
        const its = `${name}-${nth}`
        const pod = podOf('ns1', its, [{ nad: 'ns1/blue', claim: `${its}.blue` }], {
          labels: { 'ipam-kit.dev/persistent-ips': 'true' },
          annotations: {
            'ipam-kit.dev/claim-owner': `StatefulSet.apps/${name}`,
            [WORKLOAD]: `StatefulSet ns1/${name}`,
          },
          ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
        })
        await this.#store.create(pod)
      }
    }
  }

  /** A Pod gets its Node; one that is being deleted ends, and is removed. */
  async #kubelet(pod: KubeObject): Promise<void> {
    const { nodeName } = (pod.spec ?? {}) as { readonly nodeName?: string }
    if (isDeleting(pod)) {
      if (!hasEnded(pod) && this.#dice.chance(0.5)) await this.end(pod, 'Succeeded')
      const finalizers = pod.metadata.finalizers?.filter((each) => each !== KUBELET) ?? []
      if (hasEnded(pod) || this.#dice.chance(0.5)) await this.#store.patch(refOf(pod), { metadata: { finalizers } })
    } else if (nodeName === undefined) await this.#store.patch(refOf(pod), { spec: { nodeName: 'n1' } })
  }
}

/** The elements that KubeVirt makes: without claims. */
function interfacesOf(vmi: KubeObject): readonly { readonly nad: string }[] {
  const { namespace = '' } = vmi.metadata
  const { networks = [], domain } = VirtualMachineInstance.parse(vmi).spec
  const nics = domain?.devices?.interfaces ?? []
  const absent = new Set(nics.filter(({ state }) => state === 'absent').map(({ name }) => name))
  return networks.flatMap(({ name, multus }) => {
    if (multus === undefined || absent.has(name)) return []
    const { networkName } = multus
    return [{ nad: networkName.includes('/') ? networkName : `${namespace}/${networkName}` }]
  })
}

function nadsOf(text: string | undefined): readonly string[] {
  if (text === undefined) return []
  const elements = JSON.parse(text) as readonly { readonly name: string; readonly namespace: string }[]
  return elements.map(({ namespace, name }) => `${namespace}/${name}`)
}

function numberOf({ metadata: { name } }: KubeObject): number {
  return Number(name.slice(name.lastIndexOf('-') + 1))
}
