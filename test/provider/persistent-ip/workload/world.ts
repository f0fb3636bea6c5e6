import { Pod, StatefulSet } from 'ipam-kit/crd/core'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { VirtualMachine, VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import type { JsonPatch, KindInfo, KubeObject, MergePatch, Propagation } from 'ipam-kit/crd/meta'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { unwrap } from 'ipam-kit/errors'
import type { EventEffect, Planner } from 'ipam-kit/plan'
import { gcPlanner } from 'ipam-kit/provider/gc'
import {
  type PersistentClaimsOptions,
  type PersistentClaimsOutcome,
  persistentClaims,
} from 'ipam-kit/provider/persistent-ip'
import { runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'

const KINDS: readonly KindInfo[] = [
  VirtualMachine.info,
  VirtualMachineInstance.info,
  IPAMClaim.info,
  NetworkAttachmentDefinition.info,
  Pod.info,
  StatefulSet.info,
]

/** Virtual machines and their claims in a store, with the planner and a garbage collector. */
export class World {
  readonly store: Store
  readonly events: EventEffect[] = []
  planner: Planner<PersistentClaimsOutcome>
  readonly #collector: Planner
  outcomes: ReadonlyMap<string, PersistentClaimsOutcome> = new Map()
  #nowMs = 0

  constructor(options: PersistentClaimsOptions | Planner<PersistentClaimsOutcome> = {}) {
    this.store = memoryStore({ now: () => this.#nowMs, kinds: KINDS })
    this.planner = 'plan' in options ? options : persistentClaims(options)
    this.#collector = gcPlanner({ kinds: KINDS })
  }

  async put(...objects: readonly KubeObject[]): Promise<this> {
    for (const object of objects) unwrap(await this.store.create(object))
    return this
  }

  async patch(info: KindInfo, name: string, patch: MergePatch | JsonPatch, subresource?: 'status'): Promise<this> {
    unwrap(await this.store.patch(refTo(info, name), patch, { ...(subresource && { subresource }) }))
    return this
  }

  async delete(info: KindInfo, name: string, propagation: Propagation = 'Background'): Promise<this> {
    unwrap(await this.store.delete(refTo(info, name), { propagation }))
    return this
  }

  /** Lets both planners work, once or until nothing is left to wait for. */
  async look(): Promise<this> {
    for (const planner of [this.planner, this.#collector] as readonly Planner<PersistentClaimsOutcome>[]) {
      this.#nowMs += 1000
      const result = await runUntilQuiet(this.store, [planner], {
        now: () => this.#nowMs,
        onEvent: (event) => this.events.push(event),
      })
      if (result.failures.length > 0) throw new Error(JSON.stringify(result.failures))
      if (planner === this.planner) this.outcomes = result.outcomes
    }
    return this
  }

  async settle(): Promise<this> {
    for (let times = 0; times < 15; times++) await this.look()
    return this
  }

  outcome(vm = 'vm1'): PersistentClaimsOutcome | undefined {
    return this.outcomes.get(`VirtualMachine ns1/${vm}`)
  }

  async claims(): Promise<readonly KubeObject[]> {
    return unwrap(await this.store.list(IPAMClaim.info)).items
  }

  async names(): Promise<readonly string[]> {
    return (await this.claims()).map(({ metadata }) => metadata.name).sort()
  }

  async get(info: KindInfo, name: string): Promise<KubeObject | undefined> {
    const found = await this.store.get(refTo(info, name))
    return found.ok ? found.value : undefined
  }
}

function refTo({ apiVersion, kind }: KindInfo, name: string) {
  return { apiVersion, kind, namespace: 'ns1', name }
}
