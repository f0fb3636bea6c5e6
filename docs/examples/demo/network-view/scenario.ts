import { Node } from 'ipam-kit/crd/core'
import { ClusterNetwork } from 'ipam-kit/crd/ipam-kit'
import type { KindInfo } from 'ipam-kit/crd/meta'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { unwrap } from 'ipam-kit/errors'
import type { Outcome, Planner } from 'ipam-kit/plan'
import { networkViewPlanner } from 'ipam-kit/provider/network-view'
import { nodeIPAM } from 'ipam-kit/provider/node-ipam'
import type { Scenario, Stage } from '../scenario.js'
import { tellSteps } from '../steps.js'
import { checksOf } from './checks.js'
import { documentOf, formatStep, snapshot } from './snapshot.js'

/** The ranges of Pods are published before their first use, and until their last. */
export const networkViewScenario: Scenario = {
  kinds: [Node.info, ClusterCIDR.info, ClusterNetwork.info],
  whereKindsAre: 'Install the definitions of node-ipam-controller and of ClusterNetwork.',
  async run(stage) {
    const planners: readonly Planner<Outcome>[] = [nodeIPAM(), networkViewPlanner()]
    await create(stage, ClusterNetwork.info, 'pods', { consumers: [{ name: CONSUMER }] })
    return tellSteps(stage, {
      ...{ steps, planners, snapshot, formatStep, checksOf, documentOf },
      act: (step) => step.act(stage),
      hasMaps: true,
      more: 'Nodes, a map, what kube-proxy and Cilium get, and each check',
    })
  },
}

interface Step {
  readonly title: string
  readonly act: (stage: Stage) => Promise<void>
}

const CONSUMER = 'cilium'
const BLUE = '10.0.0.0/24'
const GREEN = '10.0.2.0/24'

const steps: readonly Step[] = [
  {
    title: 'ClusterCIDR blue is added: it is proposed to cilium',
    act: (stage) => create(stage, ClusterCIDR.info, 'blue', { perNodeHostBits: 6, ipv4: BLUE }),
  },
  {
    title: 'cilium accepts blue, and 2 Nodes join',
    act: async (stage) => {
      await accept(stage, BLUE)
      for (const name of ['node-1', 'node-2']) await create(stage, Node.info, name, {})
    },
  },
  {
    title: 'ClusterCIDR green is added, and blue is deleted: its Nodes keep their subnets',
    act: async (stage) => {
      await create(stage, ClusterCIDR.info, 'green', { perNodeHostBits: 6, ipv4: GREEN })
      await remove(stage, ClusterCIDR.info, 'blue')
    },
  },
  {
    title: 'cilium accepts green, and another Node joins',
    act: async (stage) => {
      await accept(stage, BLUE, GREEN)
      await create(stage, Node.info, 'node-3', {})
    },
  },
  {
    title: 'The Nodes of blue leave: it stays published for 60 seconds',
    act: async (stage) => {
      for (const name of ['node-1', 'node-2']) await remove(stage, Node.info, name)
    },
  },
]

async function create({ store, clock }: Stage, { apiVersion, kind }: KindInfo, name: string, spec: object) {
  clock.tick()
  unwrap(await store.create({ apiVersion, kind, metadata: { name }, spec }))
}

async function remove({ store }: Stage, { apiVersion, kind }: KindInfo, name: string): Promise<void> {
  unwrap(await store.delete({ apiVersion, kind, name }))
}

/** What a consumer writes about the ranges that it accepts. */
async function accept({ store }: Stage, ...cidrs: readonly string[]): Promise<void> {
  const { apiVersion, kind } = ClusterNetwork.info
  const answers = cidrs.map((cidr) => ({ cidr, consumer: CONSUMER, accepted: true }))
  unwrap(await store.patch({ apiVersion, kind, name: 'pods' }, { status: { answers } }, { subresource: 'status' }))
}
