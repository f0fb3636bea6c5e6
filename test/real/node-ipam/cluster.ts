import assert from 'node:assert/strict'
import type { Node } from 'ipam-kit/crd/core'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import type { ClusterCIDRSpec } from '../../../src/crd/node-ipam/cluster-cidr.js'
import { Client, eachOf } from '../controller/client.js'
import type { KubeAccess } from '../servers/kube-api.js'
import { waitFor } from '../servers/tools.js'

export const NODES = '/api/v1/nodes'
export const RANGES = `/apis/${ClusterCIDR.info.apiVersion}/${ClusterCIDR.info.plural}`
export const AT_ONCE = 8
const SECONDS = 60

/** What a Node is made with. */
export interface NodeTraits {
  readonly labels?: { readonly [key: string]: string }
  readonly podCIDRs?: readonly string[]
  readonly finalizers?: readonly string[]
}

interface CoreEvent extends KubeObject {
  readonly reason: string
  readonly involvedObject: { readonly name: string }
}

/**
 * What people do to Nodes and ClusterCIDRs of an API server, and what they see of them. Nodes are
 * bare objects, without a kubelet.
 */
export class Cluster {
  readonly client: Client

  constructor(access: KubeAccess) {
    this.client = new Client(access, AT_ONCE + 1)
  }

  async addRange(name: string, spec: ClusterCIDRSpec): Promise<void> {
    const { apiVersion, kind } = ClusterCIDR.info
    await this.client.send('POST', RANGES, { body: { apiVersion, kind, metadata: { name }, spec } })
  }

  async addNode(name: string, { labels, podCIDRs, finalizers }: NodeTraits = {}): Promise<void> {
    const spec = podCIDRs === undefined ? {} : { podCIDR: podCIDRs[0], podCIDRs }
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels, finalizers }, spec }
    await this.client.send('POST', NODES, { body })
  }

  async addNodes(names: readonly string[]): Promise<void> {
    await eachOf(names, AT_ONCE, (name) => this.addNode(name))
  }

  /** Changes labels or finalizers. */
  async changeNode(name: string, metadata: object): Promise<void> {
    await this.client.send('PATCH', `${NODES}/${name}`, { body: { metadata }, patch: 'merge' })
  }

  async deleteNodes(...names: readonly string[]): Promise<void> {
    await eachOf(names, AT_ONCE, (name) => this.client.send('DELETE', `${NODES}/${name}`))
  }

  async deleteRange(name: string): Promise<void> {
    await this.client.send('DELETE', `${RANGES}/${name}`)
  }

  async nodes(): Promise<readonly Node[]> {
    return (await this.client.list(NODES)) as readonly Node[]
  }

  async range(name: string): Promise<ClusterCIDR | undefined> {
    return (await this.client.list(RANGES)).find(({ metadata }) => metadata.name === name) as ClusterCIDR | undefined
  }

  async subnetsOf(name: string): Promise<readonly string[] | undefined> {
    return (await this.nodes()).find(({ metadata }) => metadata.name === name)?.spec.podCIDRs
  }

  /** Waits until a Node has these subnets. */
  async untilGiven(name: string, subnets: readonly string[], explain?: () => string): Promise<void> {
    assert.deepEqual(await this.untilServed(name, explain), subnets, name)
  }

  /** Waits until a Node has subnets. */
  untilServed(name: string, explain?: () => string): Promise<readonly string[]> {
    return waitFor(() => this.subnetsOf(name), limit(`Node ${name} has no subnets`, explain))
  }

  /** Waits until so many Nodes have subnets. */
  async untilAllServed(count: number, explain: () => string): Promise<void> {
    const isDone = async () => {
      const served = (await this.nodes()).filter(({ spec }) => spec.podCIDRs !== undefined)
      return served.length === count || undefined
    }
    await waitFor(isDone, limit(`not all of ${count} Nodes have subnets`, explain))
  }

  async untilRangeIsGone(name: string): Promise<void> {
    await waitFor(async () => (await this.range(name)) === undefined || undefined, limit(`${name} is still there`))
  }

  /** Waits for an Event about the object with a name. */
  async untilTold(name: string, reason: string, explain?: () => string): Promise<void> {
    const isTold = async () => {
      const events = (await this.client.list('/api/v1/events')) as readonly CoreEvent[]
      return events.some((each) => each.reason === reason && each.involvedObject.name === name) || undefined
    }
    await waitFor(isTold, limit(`there is no Event ${reason} about ${name}`, explain))
  }

  /** Removes all Nodes, ClusterCIDRs and Events, whatever keeps them. */
  async clear(): Promise<void> {
    for (const path of [RANGES, NODES]) {
      const { client } = this
      await eachOf(await client.list(path), AT_ONCE, async ({ metadata: { name, finalizers = [] } }) => {
        const one = `${path}/${name}`
        const body = { metadata: { finalizers: [] } }
        if (finalizers.length > 0) await client.send('PATCH', one, { body, patch: 'merge', also: [404] })
        await client.send('DELETE', one, { also: [404] })
      })
    }
    await this.client.send('DELETE', '/api/v1/namespaces/default/events')
  }

  close(): void {
    this.client.close()
  }
}

function limit(words: string, explain: () => string = () => '') {
  return { seconds: SECONDS, else: words, explain }
}
