import { Pod } from 'ipam-kit/crd/core'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { VirtualMachine, VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import type { JsonPatch, KindInfo, KubeObject, MergePatch } from 'ipam-kit/crd/meta'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { unwrap } from 'ipam-kit/errors'
import { sleep } from 'ipam-kit/node'
import type { Planner } from 'ipam-kit/plan'
import { admitVMPod, persistentClaims, persistentIPs } from 'ipam-kit/provider/persistent-ip'
import { persistentIPsOnBlocks } from 'ipam-kit/provider/persistent-ip-blocks'
import { runUntilQuiet, taskCaller } from 'ipam-kit/run'
import { kubernetesStore } from 'ipam-kit/store/kubernetes'
import { ApiServerModel } from '../test/store/kubernetes-model.js'
import { definition, instanceOf, machineOf, podOf } from './persistent-machines.js'

const KINDS = [VirtualMachine, VirtualMachineInstance, IPAMClaim, NetworkAttachmentDefinition, Pod, IPBlock].map(
  ({ info }) => info,
)

/** The steps in the life of a machine, in their order. */
export const STEPS = ['first start', 'stop', 'next start', 'live migration', 'deletion'] as const
export type Step = (typeof STEPS)[number]

/** What keeps the addresses. */
export type Ledger = 'objects' | 'blocks'

/**
 * The requests that both sides make in each step of a machine, as `POST ipamclaims`, without lists
 * and watches. The network has served another machine before.
 */
export async function machineRequests(ledger: Ledger): Promise<ReadonlyMap<Step, readonly string[]>> {
  const cluster = new Cluster(ledger)
  await cluster.put(definition())
  const counted = new Map<Step, readonly string[]>()
  for (const nth of [1, 2]) for (const step of STEPS) counted.set(step, await cluster.requestsOf(step, nth))
  return counted
}

/** Plays the API server, KubeVirt and the garbage collector, beside both planners. */
class Cluster {
  readonly #server = new ApiServerModel(KINDS)
  readonly #planners: readonly Planner[]
  readonly #external: ReturnType<typeof taskCaller> | undefined
  readonly #store = kubernetesStore(this.#server, { kinds: KINDS, sleep })
  readonly #now = () => this.#nowMs
  #nowMs = Date.parse('2026-01-01T00:00:00Z')

  constructor(ledger: Ledger) {
    const claims = persistentClaims({ graceSeconds: 0 })
    if (ledger === 'objects') {
      this.#planners = [claims, persistentIPs()]
      return
    }
    const addresses = persistentIPsOnBlocks({ graceSeconds: 0 })
    this.#planners = [claims, addresses]
    this.#external = taskCaller({ store: this.#store, tasks: addresses.tasks, now: this.#now }) as never
  }

  async put({ metadata, ...rest }: KubeObject): Promise<void> {
    const { resourceVersion, uid, ...own } = metadata
    unwrap(await this.#server.store.create({ ...rest, metadata: own }))
  }

  /** Lets KubeVirt do a step, and counts the requests of both sides. */
  async requestsOf(step: Step, nth: number): Promise<readonly string[]> {
    const counted: string[] = []
    for (const act of this.#actsOf(step, nth)) {
      await act()
      // a grace period has several looks
      for (let times = 0; times < 3; times++) counted.push(...(await this.#look()))
    }
    return counted
  }

  async #look(): Promise<readonly string[]> {
    this.#nowMs += 1000
    this.#server.requests.length = 0
    const { failures } = await runUntilQuiet(this.#store, this.#planners, { now: this.#now, external: this.#external })
    if (failures.length > 0) throw new Error(`the benchmark failed: ${JSON.stringify(failures)}`)
    return this.#server.requests.flatMap(({ method, path }) => {
      const [place = ''] = path.split('?')
      const parts = place.split('/')
      const plural = parts.findLast((part) => KINDS.some((kind) => kind.plural === part)) ?? place
      const isList = method === 'GET' && parts.at(-1) === plural
      return isList ? [] : [`${method} ${plural}${place.endsWith('/status') ? '/status' : ''}`]
    })
  }

  #actsOf(step: Step, nth: number): readonly (() => Promise<void>)[] {
    const [first, next, target] = [nth * 100, nth * 100 + 1, nth * 100 + 2]
    const start = (pod: number) => [
      () => this.put(instanceOf(nth)),
      () => this.#startPod(pod, nth),
      ...['Scheduling', 'Scheduled', 'Running'].map(
        (phase) => () => this.#patch(VirtualMachineInstance.info, `vm-${nth}`, { status: { phase } }),
      ),
    ]
    const ends = (pod: number) => () => this.#delete(Pod.info, `pod-${pod}`)
    const stop = (pod: number) => [ends(pod), () => this.#delete(VirtualMachineInstance.info, `vm-${nth}`)]
    switch (step) {
      case 'first start':
        return [() => this.put(machineOf(nth)), ...start(first)]
      case 'stop':
        return stop(first)
      case 'next start':
        return start(next)
      case 'live migration':
        return [
          () => this.#startPod(target, nth, { 'kubevirt.io/migrationJobUID': 'job' }),
          () => this.#patch(Pod.info, `pod-${target}`, RUNS_IN_TARGET),
          ends(next),
        ]
      case 'deletion':
        return [...stop(target), () => this.#delete(VirtualMachine.info, `vm-${nth}`), () => this.#collect(nth)]
    }
  }

  /** A Pod of a machine, as the webhook answers for it: from what its watches have, without a request. */
  async #startPod(pod: number, nth: number, labels: { readonly [key: string]: string } = {}): Promise<void> {
    const { metadata, ...rest } = podOf(nth, false)
    const selection = { 'k8s.v1.cni.cncf.io/networks': 'blue', 'kubevirt.io/domain': `vm-${nth}` }
    const sent = { ...rest, metadata: { ...metadata, name: `pod-${pod}`, labels, annotations: selection } }
    const [nad, instance] = [definition(), instanceOf(nth)]
    const objects = { instance: () => instance, definition: () => nad, definitionsIn: () => [nad] }
    const { admission } = admitVMPod({ operation: 'CREATE', pod: sent }, objects as never)
    if (!admission.allowed || admission.patch === undefined) throw new Error('the benchmark has no patch')
    await this.put(sent)
    await this.#patch(Pod.info, `pod-${pod}`, admission.patch)
  }

  /** As the garbage collector: claims whose machine does not exist. */
  async #collect(nth: number): Promise<void> {
    await this.#delete(IPAMClaim.info, `vm-${nth}.blue`)
  }

  async #patch(kind: KindInfo, name: string, patch: MergePatch | JsonPatch): Promise<void> {
    unwrap(await this.#server.store.patch(refOf(kind, name), patch, {}))
  }

  async #delete(kind: KindInfo, name: string): Promise<void> {
    unwrap(await this.#server.store.delete(refOf(kind, name), {}))
  }
}

const RUNS_IN_TARGET = {
  metadata: { annotations: { 'kubevirt.io/migration-target-ready-timestamp': '2026-01-01T00:00:00Z' } },
}

function refOf({ apiVersion, kind }: KindInfo, name: string) {
  return { apiVersion, kind, namespace: 'ns', name }
}
