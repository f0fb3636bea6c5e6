import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { admitExample, manifestsIn, SHARED } from '../account.js'
import { ControllerProcess } from '../controller/process.js'
import { pause } from '../pace.js'
import type { Report } from '../report.js'
import { startKubernetes } from '../servers/kubernetes.js'
import { Cluster } from './cluster.js'
import { EXAMPLE } from './traces.js'

/** Upstream's definition: it admits what D7 is about. */
const UPSTREAM = join(SHARED, 'upstream-crds', 'node-ipam-controller')
const HOLD = 'example.com/hold'
/** How long the controller may still change its mind, in milliseconds. */
const REST_MS = 300

const ipv4 = '10.0.0.0/22'
const zoneA = { labels: { zone: 'a' } }
const forZoneA = {
  nodeSelector: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }] },
}
const rangeOf = (spec: Partial<ClusterCIDR['spec']>): ClusterCIDR['spec'] => ({ perNodeHostBits: 8, ...spec })

/** A cluster with the example controller, which can be started again. */
class Scene extends Cluster {
  readonly #start: (args: readonly string[]) => ControllerProcess
  #args: readonly string[] = []
  #controller: ControllerProcess | undefined
  #marks = 0

  constructor(access: ConstructorParameters<typeof Cluster>[0], start: (args: readonly string[]) => ControllerProcess) {
    super(access)
    this.#start = start
  }

  async start(...args: readonly string[]): Promise<void> {
    this.#args = args
    this.#controller = this.#start(args)
    await this.#controller.untilItLeads()
  }

  /** Kills the controller and starts it again. */
  async restart(): Promise<void> {
    await this.#controller?.stop('SIGKILL')
    await this.start(...this.#args)
  }

  /** Waits until the controller has taken in what was done before, and a little longer. */
  async settle(): Promise<void> {
    const name = `mark-${this.#marks++}`
    await this.addNode(name, { podCIDRs: ['192.0.2.0/24'] })
    await this.told(name, 'CIDRNotOwned')
    await this.deleteNodes(name)
    await pause(REST_MS)
  }

  told(name: string, reason: string): Promise<void> {
    return this.untilTold(name, reason, () => this.#lines())
  }

  given(name: string, ...subnets: readonly string[]): Promise<void> {
    return this.untilGiven(name, subnets, () => this.#lines())
  }

  /** The test is over: the next one begins with nothing. */
  async end(): Promise<void> {
    await this.#controller?.stop('SIGKILL')
    await this.clear()
  }

  #lines(): string {
    return (this.#controller?.lines ?? []).slice(-10).join('\n')
  }
}

/**
 * Each defect of node-ipam-controller by its number, on an API server with upstream's definition:
 * here it does not happen.
 */
export async function defects(report: Report, program: string): Promise<void> {
  const crds = readdirSync(UPSTREAM).flatMap((name) => manifestsIn(readFileSync(join(UPSTREAM, name), 'utf8')))
  const server = await startKubernetes({ crds, bare: true })
  try {
    const kubeconfig = await admitExample(server, EXAMPLE)
    const scene = new Scene(server, (args) => new ControllerProcess(program, kubeconfig, args))
    for (const [name, play] of Object.entries(PLAYS)) {
      await report.test(name, async () => {
        try {
          await play(scene)
        } finally {
          await scene.end()
        }
        return undefined
      })
    }
    await report.test('D7: the definition of this project refuses more host bits than a range has', async () => {
      await server.apply(crdManifest(ClusterCIDR))
      await assert.rejects(scene.addRange('a', rangeOf({ ipv4, perNodeHostBits: 11 })), /PerNodeHostBits must be less/)
      return undefined
    })
    scene.close()
  } finally {
    await server.stop()
  }
}

const PLAYS: { readonly [name: string]: (scene: Scene) => Promise<void> } = {
  async 'D1: the subnet of a Node that has lost its labels is given to no other Node after a restart'(scene) {
    await scene.start()
    await scene.addRange('a', rangeOf({ ipv4, ...forZoneA }))
    await scene.addNode('n1', zoneA)
    await scene.given('n1', '10.0.0.0/24')
    await scene.changeNode('n1', { labels: { zone: null } })
    await scene.restart()
    await scene.addNode('n2', zoneA)
    await scene.given('n2', '10.0.1.0/24')
  },

  async 'D2: a ClusterCIDR that is deleted keeps its finalizer through a restart while a Node has a subnet of it'(
    scene,
  ) {
    await scene.start()
    await scene.addRange('a', rangeOf({ ipv4, ...forZoneA }))
    await scene.addNode('n1', zoneA)
    await scene.given('n1', '10.0.0.0/24')
    await scene.deleteRange('a')
    await scene.restart()
    await scene.settle()
    const { metadata } = (await scene.range('a'))!
    // what upstream takes for a change of the spec
    assert.equal(metadata.generation, 2)
    assert.equal(metadata.finalizers?.length, 1)
    await scene.deleteNodes('n1')
    await scene.untilRangeIsGone('a')
  },

  async 'D3: the subnet of a Node that is being deleted is free when the Node does not exist any more'(scene) {
    await scene.start()
    await scene.addRange('a', rangeOf({ ipv4: '10.0.0.0/24' }))
    await scene.addNode('n1', { finalizers: [HOLD] })
    await scene.given('n1', '10.0.0.0/24')
    await scene.deleteNodes('n1')
    await scene.addNode('n2')
    await scene.told('n2', 'CIDRNotAvailable')
    await scene.restart()
    await scene.settle()
    assert.equal(await scene.subnetsOf('n2'), undefined)
    await scene.changeNode('n1', { finalizers: [] })
    await scene.given('n2', '10.0.0.0/24')
  },

  async 'D4: while IPv6 is full no try takes an IPv4 subnet'(scene) {
    await scene.start()
    await scene.addRange('a', rangeOf({ ipv4, ipv6: 'fd00::/120' }))
    await scene.addNode('n1')
    await scene.given('n1', '10.0.0.0/24', 'fd00::/120')
    await scene.addNode('n2')
    await scene.told('n2', 'CIDRNotAvailable')
    for (const attempt of ['1', '2', '3']) {
      await scene.changeNode('n2', { labels: { attempt } })
      await scene.settle()
    }
    await scene.deleteNodes('n1')
    await scene.given('n2', '10.0.1.0/24', 'fd00::/120')
  },

  async 'D5: a Node and a service range of a family that no ClusterCIDR has end nothing'(scene) {
    await scene.addRange('a', rangeOf({ ipv4 }))
    await scene.addNode('n1', { podCIDRs: ['fd00::/120'] })
    await scene.start('--service-cluster-ip-range', 'fd00:1::/112')
    await scene.addNode('n2')
    await scene.given('n2', '10.0.0.0/24')
    await scene.told('n1', 'CIDRNotOwned')
  },

  async 'D6: a ClusterCIDR without a selector that is being deleted gives no subnets'(scene) {
    await scene.start()
    await scene.addRange('a', rangeOf({ ipv4 }))
    await scene.addNode('n1')
    await scene.given('n1', '10.0.0.0/24')
    await scene.deleteRange('a')
    // the watches of ranges and of Nodes are two: the Node may be seen before the deletion
    await scene.settle()
    await scene.addNode('n2')
    await scene.told('n2', 'CIDRNotAvailable')
    await scene.restart()
    await scene.settle()
    assert.equal(await scene.subnetsOf('n2'), undefined)
    await scene.addRange('b', rangeOf({ ipv4: '10.1.0.0/22' }))
    await scene.given('n2', '10.1.0.0/24')
  },

  async 'D7: a ClusterCIDR with more host bits than its range, or fewer than 0, gives no subnets and says why'(scene) {
    await scene.start()
    await scene.addRange('large', rangeOf({ ipv4: '10.0.0.0/24', perNodeHostBits: 12 }))
    await scene.addRange('negative', rangeOf({ ipv4: '10.2.0.0/24', perNodeHostBits: -1 }))
    for (const name of ['large', 'negative']) await scene.told(name, 'InvalidClusterCIDR')
    await scene.addNode('n1')
    await scene.told('n1', 'CIDRNotAvailable')
    await scene.addRange('right', rangeOf({ ipv4: '10.1.0.0/24' }))
    await scene.given('n1', '10.1.0.0/24')
  },

  async 'D8: Events tell of a subnet in no range, and of two Nodes with one subnet, which stays in use'(scene) {
    await scene.addRange('a', rangeOf({ ipv4: '10.0.0.0/23' }))
    await scene.addNode('outside', { podCIDRs: ['192.168.0.0/24'] })
    for (const name of ['n1', 'n2']) await scene.addNode(name, { podCIDRs: ['10.0.1.0/24'] })
    await scene.start()
    await scene.told('outside', 'CIDRNotOwned')
    for (const name of ['n1', 'n2']) await scene.told(name, 'CIDRConflict')
    await scene.deleteNodes('n1')
    await scene.addNode('n3')
    await scene.given('n3', '10.0.0.0/24')
    await scene.addNode('n4')
    await scene.told('n4', 'CIDRNotAvailable')
    assert.equal(await scene.subnetsOf('n4'), undefined)
  },
}
