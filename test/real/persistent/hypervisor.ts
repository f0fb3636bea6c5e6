import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Client } from '../controller/client.js'
import { waitFor } from '../servers/tools.js'
import { INSTANCES, MACHINES, NAMESPACE, PODS } from './ground.js'

const INSTANCE_FINALIZER = 'foregroundDeleteVirtualMachine'
/** A Pod with this finalizer stays, as one does whose processes do not end. */
const HELD = 'test.ipam-kit.dev/held'
const NODE = 'node-a'
const DOMAIN = 'kubevirt.io/domain'
const SECONDS = 60

/** Plays KubeVirt, a scheduler and a kubelet: makes instances and Pods, and ends them. */
export class Hypervisor {
  readonly #client: Client
  readonly #instances = new Map<string, KubeObject>()
  readonly #pods = new Map<string, KubeObject>()
  /** What was sent already, by the uid of an object. */
  readonly #done = new Set<string>()
  readonly #problems: string[] = []
  #ends: (() => void)[] = []
  #launched = 0
  /** How often a Pod was refused by the webhook, or for lack of it. */
  refusals = 0

  constructor(client: Client) {
    this.#client = client
  }

  async start(): Promise<void> {
    const ended = () => void this.#problems.push('a watch of the hypervisor has ended')
    this.#ends = [
      await this.#client.watch(INSTANCES, (type, object) => this.#note(this.#instances, type, object), ended),
      await this.#client.watch(PODS, (type, object) => this.#note(this.#pods, type, object), ended),
    ]
  }

  stop(): void {
    for (const end of this.#ends) end()
  }

  get problems(): readonly string[] {
    return this.#problems
  }

  /** @param networks `blue`, or `nets/red` */
  async create(name: string, networks: readonly string[]): Promise<void> {
    const spec = { networks: networks.map((nad) => ({ name: nad.replace(/.*\//, ''), multus: { networkName: nad } })) }
    const body = { ...kindOf('VirtualMachine'), metadata: { name }, spec: { template: { spec } } }
    await this.#retried(`VirtualMachine ${name} cannot be created`, () => this.#client.send('POST', MACHINES, { body }))
  }

  async delete(name: string, propagationPolicy: 'Background' | 'Foreground' | 'Orphan'): Promise<void> {
    await this.#client.send('DELETE', `${MACHINES}/${name}`, { body: { propagationPolicy } })
  }

  /** Makes the instance of a machine, and its Pod. An instance of before has to end first. */
  async begin(name: string): Promise<void> {
    const machine = await this.#client.send<Machine>('GET', `${MACHINES}/${name}`)
    const metadata = { name, finalizers: [INSTANCE_FINALIZER], ownerReferences: [ownerOf(machine, 'VirtualMachine')] }
    const body = { ...kindOf('VirtualMachineInstance'), metadata, spec: machine.spec.template.spec }
    await this.#retried(`the instance ${name} cannot be created`, async () => {
      const instance = await this.#client.send<KubeObject>('POST', INSTANCES, { body })
      this.#instances.set(name, instance)
    })
    await this.launch(name)
  }

  /** Ends an instance. Its machine stays. */
  async end(name: string): Promise<void> {
    await this.#client.send('DELETE', `${INSTANCES}/${name}`)
    await this.#retried(`the instance ${name} does not end`, async () => {
      if (this.#instances.has(name) || this.podsOf(name).length > 0) throw new Error('it exists')
    })
  }

  /**
   * Makes a Pod of an instance. As KubeVirt does, it tries again when the webhook refuses it.
   *
   * @param migration the migration that it is the target of
   * @returns its name
   */
  async launch(name: string, migration?: string): Promise<string> {
    const instance = this.#instances.get(name)!
    const networks = (instance.spec as InstanceSpec).networks.map(({ multus: { networkName: nad } }) => {
      const [namespace, its] = nad.includes('/') ? nad.split('/') : [NAMESPACE, nad]
      return { name: its, namespace }
    })
    const metadata = {
      name: `virt-launcher-${name}-${this.#launched++}`,
      labels: {
        ...{ 'kubevirt.io': 'virt-launcher', 'kubevirt.io/created-by': instance.metadata.uid },
        ...(migration !== undefined && { 'kubevirt.io/migrationJobUID': migration }),
      },
      annotations: { [DOMAIN]: name, 'k8s.v1.cni.cncf.io/networks': JSON.stringify(networks) },
      ownerReferences: [ownerOf(instance, 'VirtualMachineInstance')],
    }
    const spec = { nodeName: NODE, containers: [{ name: 'compute', image: 'compute' }] }
    const body = { apiVersion: 'v1', kind: 'Pod', metadata, spec }
    const pod = await this.#retried(`Pod ${metadata.name} cannot be created`, async () => {
      try {
        return await this.#client.send<KubeObject>('POST', PODS, { body })
      } catch (error) {
        this.refusals++
        throw error
      }
    })
    this.#pods.set(metadata.name, pod)
    const status = { activePods: { [pod.metadata.uid ?? '']: NODE } }
    await this.#client.send('PATCH', `${INSTANCES}/${name}`, { body: { status }, patch: 'merge' })
    return metadata.name
  }

  /** The Pods of an instance that are not held. */
  podsOf(name: string): readonly KubeObject[] {
    return [...this.#pods.values()].filter(
      ({ metadata }) => metadata.annotations?.[DOMAIN] === name && metadata.finalizers?.includes(HELD) !== true,
    )
  }

  pod(name: string): KubeObject | undefined {
    return this.#pods.get(name)
  }

  async deletePod(name: string): Promise<void> {
    await this.#client.send('DELETE', `${PODS}/${name}`, { body: { gracePeriodSeconds: 0 }, also: [404] })
  }

  /** Has a Pod stay after its deletion, or no longer. */
  async hold(name: string, isHeld: boolean): Promise<void> {
    const metadata = { finalizers: isHeld ? [HELD] : null }
    await this.#client.send('PATCH', `${PODS}/${name}`, { body: { metadata }, patch: 'merge' })
  }

  #note(objects: Map<string, KubeObject>, type: string, object: KubeObject): void {
    const { name } = object.metadata
    if (type === 'DELETED') objects.delete(name)
    else objects.set(name, object)
    if (objects === this.#pods && type !== 'DELETED') this.#asKubelet(object)
    this.#settle(objects === this.#pods ? (object.metadata.annotations?.[DOMAIN] ?? '') : name)
  }

  #asKubelet({ metadata, spec }: KubeObject): void {
    const { name, uid, deletionTimestamp } = metadata
    const { nodeName = '' } = spec as { readonly nodeName?: string }
    if (deletionTimestamp !== undefined) this.#once(`delete ${uid}`, () => this.deletePod(name))
    else if (nodeName === '') {
      const body = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target: { kind: 'Node', name: NODE } }
      this.#once(`bind ${uid}`, () => this.#client.send('POST', `${PODS}/${name}/binding`, { body, also: [404, 409] }))
    }
  }

  /** An instance that is being deleted ends its Pods, and then itself. */
  #settle(name: string): void {
    const instance = this.#instances.get(name)
    if (instance?.metadata.deletionTimestamp === undefined) return
    const { uid, finalizers = [] } = instance.metadata
    const pods = [...this.#pods.values()].filter(({ metadata }) => metadata.annotations?.[DOMAIN] === name)
    for (const { metadata } of pods) this.#once(`delete ${metadata.uid}`, () => this.deletePod(metadata.name))
    if (this.podsOf(name).length > 0 || !finalizers.includes(INSTANCE_FINALIZER)) return
    this.#once(`end ${uid}`, async () => {
      // the garbage collector may have removed its own finalizer since: none can be added
      const now = this.#instances.get(name)
      if (now?.metadata.uid !== uid) return
      const rest = now?.metadata.finalizers?.filter((each) => each !== INSTANCE_FINALIZER)
      const body = { metadata: { uid, finalizers: rest }, status: null }
      await this.#client.send('PATCH', `${INSTANCES}/${name}`, { body, patch: 'merge', also: [404] })
    })
  }

  #once(what: string, action: () => Promise<unknown>): void {
    if (this.#done.has(what)) return
    this.#done.add(what)
    this.#retried(what, action).catch((error: Error) => this.#problems.push(error.message))
  }

  #retried<T>(otherwise: string, action: () => Promise<T>): Promise<T> {
    return waitFor(async () => (await action()) ?? (true as T), { seconds: SECONDS, else: otherwise })
  }
}

type InstanceSpec = { readonly networks: readonly { readonly multus: { readonly networkName: string } }[] }
type Machine = KubeObject & { readonly spec: { readonly template: { readonly spec: InstanceSpec } } }

function kindOf(kind: string): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: 'kubevirt.io/v1', kind }
}

function ownerOf({ metadata: { name, uid } }: KubeObject, kind: string): object {
  return { ...kindOf(kind), name, uid, controller: true, blockOwnerDeletion: true }
}
