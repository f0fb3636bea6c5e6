import type { ExternalFailure, ExternalResult } from 'ipam-kit/plan'
import type { ServerCloud } from 'ipam-kit/provider/openstack'
import type { FloatingIP, RouterLinks, ServerNetwork } from '../../../src/provider/openstack/server-cloud.js'

type Ports = ServerNetwork['ports']

/** A cloud as servers see it: instances with ports, one router, and floating IPs. */
export class FakeServers implements ServerCloud {
  readonly instances = new Map<string, Ports>()
  readonly floatingIPs = new Map<string, FloatingIP>()
  readonly calls: string[] = []
  routers: readonly RouterLinks[] = [{ id: 'r1', gatewayNetwork: 'ext', subnets: ['nodes'] }]
  /**
   * Called before each call; a failure is its answer. With `isDone` the call is carried out all the
   * same.
   */
  trouble: (operation: string) => { readonly failure: ExternalFailure; readonly isDone?: boolean } | undefined = () =>
    undefined

  instance(
    id: string,
    ports: Ports = [{ id: `${id}-p1`, fixedIPs: [{ subnet: 'nodes', address: '10.0.0.4' }] }],
  ): this {
    this.instances.set(id, ports)
    return this
  }

  floatingIP(address: string, port = '', id = `fip-${address}`): this {
    this.floatingIPs.set(id, { id, address, network: 'ext', port, revision: 1 })
    return this
  }

  portOf(address: string): string | undefined {
    return this.#byAddress(address)?.port
  }

  describeServer({ server, address }: { readonly server: string; readonly address: string }) {
    return this.#call('describeServer', (): ExternalResult<ServerNetwork> => {
      const ports = this.instances.get(server) ?? []
      const ids = ports.map(({ id }) => id)
      const attached = [...this.floatingIPs.values()].filter(({ port }) => ids.includes(port))
      const floatingIPs = [...this.floatingIPs.values()].filter((each) => each.address === address)
      const addresses = attached.map((each) => each.address)
      return { ok: true, value: { addresses, ports, routers: this.routers, floatingIPs } }
    })
  }

  attachFloatingIP({
    id,
    port,
    revision,
  }: {
    readonly id: string
    readonly port: string
    readonly revision: number | null
  }) {
    return this.#call('attachFloatingIP', (): ExternalResult => {
      const found = this.floatingIPs.get(id)
      if (found === undefined || (revision !== null && revision !== found.revision)) {
        return { ok: false, failure: { message: 'it has changed', retryable: true, nothingDone: true } }
      }
      return this.#set(found, port)
    })
  }

  detachFloatingIP({ id, port }: { readonly id: string; readonly port: string }) {
    return this.#call('detachFloatingIP', (): ExternalResult => {
      const found = this.floatingIPs.get(id)
      return found?.port === port ? this.#set(found, '') : { ok: true, value: {} }
    })
  }

  #set(found: FloatingIP, port: string): ExternalResult {
    this.floatingIPs.set(found.id, { ...found, port, revision: (found.revision ?? 0) + 1 })
    return { ok: true, value: {} }
  }

  async #call<T>(operation: string, carryOut: () => ExternalResult<T>): Promise<ExternalResult<T>> {
    this.calls.push(operation)
    const trouble = this.trouble(operation)
    if (trouble === undefined) return carryOut()
    if (trouble.isDone === true) carryOut()
    return { ok: false, failure: trouble.failure }
  }

  #byAddress(address: string): FloatingIP | undefined {
    return [...this.floatingIPs.values()].find((each) => each.address === address)
  }
}
