import type { KubeObject } from 'ipam-kit/crd/meta'
import { OpenStackServer } from 'ipam-kit/crd/openstack'
import type { Client } from '../controller/client.js'
import type { FaultyCloud } from './cloud.js'

/** Finalizer of upstream's controller: a server stays until its instance and ports are deleted. */
export const SERVER_FINALIZER = 'openstackserver.infrastructure.cluster.x-k8s.io'

/**
 * The controller of machines: it creates instances for servers that have their address, and deletes
 * them.
 */
export class Machines {
  readonly #client: Client
  readonly #cloud: FaultyCloud
  readonly #path: string
  /** As they were last told. */
  readonly #servers = new Map<string, OpenStackServer>()
  readonly #busy = new Set<string>()
  readonly #instances = new Map<string, string>()
  #stop = () => {}
  /** What it could not do. */
  readonly problems: string[] = []

  constructor(client: Client, cloud: FaultyCloud, path: string) {
    this.#client = client
    this.#cloud = cloud
    this.#path = path
  }

  async start(): Promise<void> {
    this.#stop = await this.#client.watch(
      this.#path,
      (type, object) => this.#told(type, object),
      () => this.problems.push('the watch of servers has ended'),
    )
  }

  stop(): void {
    this.#stop()
  }

  get servers(): readonly OpenStackServer[] {
    return [...this.#servers.values()]
  }

  /** Those that have their address attached, as their condition says. */
  get ready(): readonly OpenStackServer[] {
    return this.servers.filter((server) => conditionOf(server)?.status === 'True')
  }

  instanceOf({ metadata }: OpenStackServer): string {
    return this.#instances.get(metadata.name) ?? ''
  }

  #told(type: string, object: KubeObject): void {
    const { name } = object.metadata
    if (type === 'DELETED') this.#servers.delete(name)
    else this.#servers.set(name, OpenStackServer.parse(object))
    if (!this.#busy.has(name)) void this.#serve(name)
  }

  /** Until there is nothing to do: what is told meanwhile is looked at next. */
  async #serve(name: string): Promise<void> {
    this.#busy.add(name)
    try {
      for (let seen: OpenStackServer | undefined; ; ) {
        const server = this.#servers.get(name)
        if (server === undefined || server === seen) return
        seen = server
        await this.#step(server)
      }
    } catch (error) {
      this.problems.push(`${name}: ${error instanceof Error ? error.message : error}`)
    } finally {
      this.#busy.delete(name)
    }
  }

  async #step(server: OpenStackServer): Promise<void> {
    const { name, deletionTimestamp, finalizers = [], resourceVersion } = server.metadata
    const instance = this.#instances.get(name)
    if (deletionTimestamp === undefined) {
      if (instance !== undefined || conditionOf(server)?.reason !== 'WaitingForInstance') return
      const instanceID = `instance-of-${name}`
      this.#instances.set(name, instanceID)
      this.#cloud.addInstance(instanceID)
      const body = { status: { instanceID } }
      await this.#client.send('PATCH', `${this.#path}/${name}/status`, { body, patch: 'merge', also: [404] })
      return
    }
    const isHeld = finalizers.includes('ipam-kit.dev/floating-ip')
    // of every other server the instance goes first, and takes the address off its port
    if (instance !== undefined && (!isHeld || Number(/\d+$/.exec(name)?.[0]) % 2 === 1)) {
      this.#cloud.removeInstance(instance)
      this.#instances.delete(name)
    }
    if (isHeld || !finalizers.includes(SERVER_FINALIZER)) return
    const rest = finalizers.filter((each) => each !== SERVER_FINALIZER)
    const body = { metadata: { resourceVersion, finalizers: rest } }
    // one that has changed meanwhile is told again
    await this.#client.send('PATCH', `${this.#path}/${name}`, { body, patch: 'merge', also: [404, 409] })
  }
}

export function conditionOf({ status }: OpenStackServer) {
  return status?.conditions?.find(({ type }) => type === 'FloatingAddressFromPoolReady')
}
