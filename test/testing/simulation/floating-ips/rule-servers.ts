import { ATTACH_SECONDS } from './bounds.js'
import type { Cluster } from './cluster.js'
import { addressIn, boundTo, claimOfServer, isAlive } from './kinds.js'
import { type ArrivedCall, Lasting, type Rule, type RuleWorld } from './rules.js'

/**
 * A server with an instance gets the address of its claim, and no call attaches an address to the
 * port of a server whose claim has another one.
 */
export class ServersRule implements Rule {
  readonly #world: RuleWorld
  readonly #lasting: Lasting
  readonly #ports: ReadonlyMap<string, string>

  /** @param ports the port of each server, by its cluster and its key */
  constructor(world: RuleWorld, ports: ReadonlyMap<string, string>) {
    this.#world = world
    this.#ports = ports
    this.#lasting = new Lasting(world, ATTACH_SECONDS)
  }

  onArrival({ call, answer, process, isLate }: ArrivedCall): void {
    if (call.operation !== 'attachFloatingIP' || !answer.ok || isLate) return
    const { id, port } = call.input as { readonly id: string; readonly port: string }
    const server = [...process.cluster.servers.keys()].find(
      (key) => this.#ports.get(`${process.cluster.name} ${key}`) === port,
    )
    const text = this.#world.project.records.get(id)?.text ?? ''
    if (server === undefined || this.#addressOf(process.cluster, server) === text) return
    this.#world.report(`${process.name} attaches ${text} to the server ${server}, whose claim does not have it`, [text])
  }

  onTick(): void {
    const { clusters, project } = this.#world
    const unattached = clusters.flatMap((cluster) =>
      [...cluster.servers].flatMap(([server, object]) => {
        // a claim that is being deleted is attached to nothing new
        if (!isAlive(object) || !isAlive(cluster.claims.get(claimOfServer(server)))) return []
        const text = this.#addressOf(cluster, server)
        const record = text === undefined ? undefined : project.withText(text)
        const port = this.#ports.get(`${cluster.name} ${server}`)
        if (record === undefined || record.touchedMs > record.createdMs || port === undefined) return []
        // an address that is attached elsewhere stays there: servers do not move with their claims
        if (project.isAttached(record) || this.#isUsed(port)) return []
        return [{ key: `${cluster.name} ${server} ${text}`, cluster, server, text: record.text }]
      }),
    )
    for (const { server, text } of this.#lasting.tooLong(unattached, true)) {
      this.#world.report(`${text} was not attached to the server ${server} within ${ATTACH_SECONDS} s`, [text, server])
    }
  }

  #isUsed(port: string): boolean {
    return this.#world.project.cloud.floatingIPs.some((each) => each.port === port)
  }

  /** The address of the claim of a server, if it is Bound. A claim that has moved here is no claim of it. */
  #addressOf(cluster: Cluster, server: string): string | undefined {
    const { uid } = cluster.servers.get(server)?.metadata ?? {}
    const claim = cluster.claims.get(claimOfServer(server))
    if (claim?.metadata.ownerReferences?.some((owner) => owner.uid === uid) !== true) return undefined
    const address = cluster.addresses.get(claimOfServer(server))
    return claim !== undefined && address !== undefined && boundTo(claim) !== undefined ? addressIn(address) : undefined
  }
}
