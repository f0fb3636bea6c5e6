import { OpenStackServer } from 'ipam-kit/crd/openstack'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import type { FakeCloud } from 'ipam-kit/testing'
import { conditionOf } from './snapshot.js'
import { serverRef } from './steps.js'

/**
 * What the controller of machines does: an instance, with a port, for each server that has its
 * address.
 */
export class Machines {
  readonly #store: Store
  readonly #cloud: FakeCloud
  readonly #network: string
  #count = 0

  constructor(store: Store, cloud: FakeCloud, external: string) {
    this.#store = store
    this.#cloud = cloud
    this.#network = cloud.addNetwork({ name: 'nodes', cidrs: ['10.6.0.0/24'], isExternal: false }).id
    cloud.addRouter({ gatewayNetwork: external, subnets: [cloud.subnetId(this.#network, 0)] })
  }

  /** @returns whether there was something to do */
  async act(): Promise<boolean> {
    const servers = unwrap(await this.#store.list(OpenStackServer.info)).items.map((it) => OpenStackServer.parse(it))
    let hasActed = false
    for (const server of servers) {
      const { name, deletionTimestamp } = server.metadata
      const waits = conditionOf(server)?.reason === 'WaitingForInstance' && deletionTimestamp === undefined
      if (!waits || server.status?.instanceID) continue
      const fixedIPs = [{ subnet: this.#cloud.subnetId(this.#network, 0), address: `10.6.0.${10 + ++this.#count}` }]
      this.#cloud.addPort({ device: name, network: this.#network, fixedIPs })
      unwrap(await this.#store.patch(serverRef(name), { status: { instanceID: name } }, { subresource: 'status' }))
      hasActed = true
    }
    const names = new Set(servers.map(({ metadata }) => metadata.name))
    for (const { id, device } of this.#cloud.ports) if (!names.has(device)) this.#cloud.removePort(id)
    return hasActed
  }
}
