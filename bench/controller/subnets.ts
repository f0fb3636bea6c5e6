import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { admitExample } from '../../test/real/account.js'
import { ControllerProcess } from '../../test/real/controller/process.js'
import { Cluster, NODES } from '../../test/real/node-ipam/cluster.js'
import { EXAMPLE } from '../../test/real/node-ipam/traces.js'
import { type RealKubernetes, startKubernetes } from '../../test/real/servers/kubernetes.js'
import { requestsOf } from './counts.js'

/**
 * What node-ipam-controller does, whatever the server could: the limit of the client that it has,
 * which no flag of it changes.
 */
const PER_SECOND = 5
const BURST = 10

/** What Nodes took. */
export interface NodeRound {
  readonly seconds: number
  /** Requests of Nodes by whoever gives the subnets. */
  readonly patches: number
  readonly reads: number
}

/**
 * Nodes that get subnets, once from a writer with the rate of node-ipam-controller, and once from
 * the example controller.
 */
export class NodeRounds {
  readonly #server: RealKubernetes
  readonly #cluster: Cluster
  readonly #start: () => ControllerProcess

  private constructor(server: RealKubernetes, start: () => ControllerProcess) {
    this.#server = server
    this.#cluster = new Cluster(server)
    this.#start = start
  }

  /** @param program of the example */
  static async open(program: string): Promise<NodeRounds> {
    const server = await startKubernetes({ crds: [crdManifest(ClusterCIDR)], bare: true })
    const kubeconfig = await admitExample(server, EXAMPLE)
    const rounds = new NodeRounds(server, () => new ControllerProcess(program, kubeconfig))
    await rounds.#cluster.addRange('pods', { ipv4: '10.0.0.0/8', ipv6: 'fd00::/96', perNodeHostBits: 8 })
    return rounds
  }

  async close(): Promise<void> {
    this.#cluster.close()
    await this.#server.stop()
  }

  /**
   * One PATCH after the other, as many a second as the limit lets through, of fewer Nodes than in
   * the other round.
   *
   * @returns the time that `count` Nodes would take: the first ones, which are sent at once, take
   * none
   */
  async limited(count: number, sample: number): Promise<number> {
    const names = await this.#join(BURST + sample)
    const start = performance.now()
    for (const [nth, name] of names.entries()) {
      const dueMs = (Math.max(0, nth + 1 - BURST) * 1000) / PER_SECOND
      await sleep(Math.max(0, start + dueMs - performance.now()))
      const podCIDRs = [`10.${nth >> 8}.${nth & 255}.0/24`, `fd00::${nth.toString(16)}00/120`]
      const body = { spec: { podCIDR: podCIDRs[0], podCIDRs } }
      await this.#cluster.client.send('PATCH', `${NODES}/${name}`, { body, patch: 'merge' })
    }
    const seconds = (performance.now() - start) / 1000
    await this.#cluster.deleteNodes(...names)
    return (seconds * (count - BURST)) / sample
  }

  /** Nodes join while the controller runs. */
  async controlled(count: number): Promise<NodeRound> {
    const controller = this.#start()
    const explain = () => controller.lines.slice(-20).join('\n')
    try {
      await controller.untilItLeads()
      // its code has run before, as that of the other side has
      await this.#cluster.deleteNodes(...(await this.#served(count / 5, explain)).names)
      const before = await this.#requests()
      const { names, seconds } = await this.#served(count, explain)
      const after = await this.#requests()
      await this.#cluster.deleteNodes(...names)
      return { seconds, patches: after.patches - before.patches, reads: after.reads - before.reads }
    } finally {
      await controller.stop()
    }
  }

  /** Makes Nodes, and waits until a watch has told that all of them have subnets. */
  async #served(count: number, explain: () => string) {
    const served = new Set<string>()
    const stop = await this.#cluster.client.watch(NODES, (_, { metadata, spec }) => {
      if ((spec as { podCIDRs?: string[] }).podCIDRs !== undefined) served.add(metadata.name)
    })
    try {
      const start = performance.now()
      const names = await this.#join(count)
      for (const end = start + 120_000; served.size < count; await sleep(1)) {
        if (performance.now() > end) throw new Error(`${served.size} of ${count} Nodes have subnets\n${explain()}`)
      }
      return { names, seconds: (performance.now() - start) / 1000 }
    } finally {
      stop()
    }
  }

  async #join(count: number): Promise<readonly string[]> {
    const names = Array.from({ length: count }, (_, nth) => `node-${nth}`)
    await this.#cluster.addNodes(names)
    return names
  }

  async #requests(): Promise<Pick<NodeRound, 'patches' | 'reads'>> {
    const { byRequest } = await requestsOf(this.#server, [''])
    return { patches: byRequest.get('PATCH nodes') ?? 0, reads: byRequest.get('GET nodes') ?? 0 }
  }
}
