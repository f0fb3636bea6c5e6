import { Service } from 'ipam-kit/crd/core'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { IPAddress, ServiceCIDR } from 'ipam-kit/crd/networking'
import { unwrap } from 'ipam-kit/errors'
import type { EventEffect } from 'ipam-kit/plan'
import { type ServiceIPOutcome, serviceIPs } from 'ipam-kit/provider/service-ip'
import { Controller, type ControllerProblem } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import type { ServiceIPOptions } from '../../../src/provider/service-ip/planner.js'
import { VirtualTimers } from '../../run/controller/virtual-timers.js'

const kinds = [Service.info, IPAddress.info, ServiceCIDR.info]
export const READY = { type: 'Ready', lastTransitionTime: '2026-01-01T00:00:00Z' } as const

/** An object of a ServiceCIDR, without a status. */
export function range(name: string, ...cidrs: readonly string[]): KubeObject {
  const { apiVersion, kind } = ServiceCIDR.info
  return { apiVersion, kind, metadata: { name }, spec: { cidrs } }
}

export function service(name: string, spec: object = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'a', name }, spec }
}

/** A Service that has addresses, as an API server stores it. */
export function using(name: string, ...clusterIPs: readonly string[]): KubeObject {
  return service(name, { clusterIP: clusterIPs[0], clusterIPs })
}

/** An IPAddress of a Service, as its allocator creates it. */
export function address(
  name: string,
  parent: string,
  traits: { readonly managedBy?: string; readonly resource?: string } = {},
) {
  const { apiVersion, kind } = IPAddress.info
  const { managedBy = 'ipallocator.k8s.io', resource = 'services' } = traits
  const labels = { 'ipaddress.kubernetes.io/managed-by': managedBy }
  const spec = { parentRef: { group: '', resource, namespace: 'a', name: parent } }
  return { apiVersion, kind, metadata: { name, labels }, spec }
}

/** A store, and a controller on it whose time goes on when it is told to. */
export class World {
  readonly timers = new VirtualTimers()
  readonly store: Store
  /** `Kind name Reason: message`. */
  readonly events: string[] = []
  readonly problems: ControllerProblem[] = []
  /** The last outcome of each key. */
  readonly outcomes = new Map<string, string>()
  #controller: Controller<ServiceIPOutcome> | undefined
  #ended: Promise<unknown> = Promise.resolve()

  constructor(store?: (below: Store) => Store) {
    const below = memoryStore({ now: () => this.timers.now(), kinds })
    this.store = store?.(below) ?? below
  }

  async create(...objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) unwrap(await this.store.create(object))
  }

  async delete(object: KubeObject): Promise<void> {
    const { apiVersion, kind, metadata } = object
    unwrap(await this.store.delete({ apiVersion, kind, namespace: metadata.namespace, name: metadata.name }))
  }

  start(options: Partial<ServiceIPOptions> = {}): void {
    this.#controller = new Controller<ServiceIPOutcome>({
      store: this.store,
      planners: [serviceIPs({ seed: 1, ...options })],
      timers: this.timers,
      onProblem: (problem) => void this.problems.push(problem),
      onEvent: (event) => void this.events.push(eventText(event)),
      onResult: ({ key, outcome }) => {
        if (outcome === undefined) this.outcomes.delete(key)
        else this.outcomes.set(key, `${outcome.kind}: ${outcome.message}`)
      },
    })
    this.#ended = this.#controller.run()
  }

  async pass(seconds: number): Promise<void> {
    await this.timers.pass(seconds * 1000)
  }

  async stop(): Promise<void> {
    this.#controller?.stop()
    await this.#ended
  }

  /** The addresses that there are, each with its parent. */
  async addresses(): Promise<readonly string[]> {
    const { items } = unwrap(await this.store.list(IPAddress.info))
    return items.map((object) => `${object.metadata.name} ${IPAddress.parse(object).spec.parentRef.name}`)
  }

  async service(name: string): Promise<Service | undefined> {
    const found = await this.store.get({ ...Service.info, namespace: 'a', name })
    return found.ok ? Service.parse(found.value) : undefined
  }

  async range(name: string): Promise<ServiceCIDR | undefined> {
    const found = await this.store.get({ ...ServiceCIDR.info, name })
    return found.ok ? ServiceCIDR.parse(found.value) : undefined
  }

  async patch(object: KubeObject, patch: object, subresource?: 'status'): Promise<void> {
    const { apiVersion, kind, metadata } = object
    const ref = { apiVersion, kind, namespace: metadata.namespace, name: metadata.name }
    unwrap(await this.store.patch(ref, patch as never, { subresource }))
  }
}

function eventText({ about, type, reason, message }: EventEffect): string {
  return `${type} ${about.kind} ${about.name} ${reason}: ${message}`
}
