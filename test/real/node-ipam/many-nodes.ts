import assert from 'node:assert/strict'
import { Prefix } from 'ipam-kit/cidr'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { admitExample } from '../account.js'
import { ControllerProcess } from '../controller/process.js'
import { paced } from '../pace.js'
import type { Depth, Report } from '../report.js'
import { startKubernetes } from '../servers/kubernetes.js'
import { waitFor } from '../servers/tools.js'
import { Cluster } from './cluster.js'
import { EXAMPLE } from './traces.js'

/**
 * How many Nodes join, half of them while one process works, and how often the leader is killed.
 */
const DEPTHS: { readonly [D in Depth]: { readonly nodes: number; readonly kills: number } } = {
  full: { nodes: 1000, kills: 10 },
  short: { nodes: 200, kills: 2 },
}

const LEASE = { 'lease-duration': paced(6), 'renew-deadline': paced(3), 'retry-period': paced(1) }
const ELECTION = ['--leader-elect', ...Object.entries(LEASE).flatMap(([name, value]) => [`--${name}`, `${value}`])]

/** Three ranges that lie apart, of both families. The first two are too small for all. */
const SPECS: readonly ClusterCIDR['spec'][] = [
  { ipv4: '10.16.0.0/18', ipv6: 'fd00:1::/114', perNodeHostBits: 8 },
  { ipv4: '10.99.0.0/17', ipv6: 'fd00:2::/113', perNodeHostBits: 8 },
  { ipv4: '172.16.0.0/12', ipv6: 'fd00:3::/108', perNodeHostBits: 8 },
]

/**
 * Bare Nodes join a cluster with three ranges, while one process works, and while the leader of two
 * processes is killed again and again.
 */
export async function manyNodes(report: Report, program: string, depth: Depth): Promise<void> {
  const { nodes, kills } = DEPTHS[depth]
  const server = await startKubernetes({ crds: [crdManifest(ClusterCIDR)], bare: true })
  const cluster = new Cluster(server)
  try {
    const kubeconfig = await admitExample(server, EXAMPLE)
    for (const [nth, spec] of SPECS.entries()) await cluster.addRange(`range-${nth}`, spec)
    await report.test('one process gives each Node subnets of one range, in one write', async () => {
      const controller = new ControllerProcess(program, kubeconfig)
      const began = Date.now()
      try {
        await cluster.addNodes(namesOf(0, nodes / 2))
        await cluster.untilAllServed(nodes / 2, () => controller.lines.slice(-20).join('\n'))
      } finally {
        await controller.stop()
      }
      await assertRight(cluster, nodes / 2)
      return `${nodes / 2} Nodes in ${((Date.now() - began) / 1000).toFixed(1)} s`
    })
    await report.test(
      'two processes, of which one leads, give no subnet twice while the leader is killed',
      async () => {
        const start = () => new ControllerProcess(program, kubeconfig, ELECTION)
        const running = [start(), start()]
        const leader = () => {
          const index = running.findIndex(({ leads }) => leads)
          return index === -1 ? undefined : index
        }
        try {
          const joining = cluster.addNodes(namesOf(nodes / 2, nodes))
          for (let kill = 0; kill < kills; kill++) {
            const index = await waitFor(leader, { seconds: 60, else: 'no process leads' })
            await new Promise((resolve) => setTimeout(resolve, 300 + ((kill * 137) % 500)))
            await running[index]!.stop('SIGKILL')
            running[index] = start()
          }
          await joining
          await cluster.untilAllServed(nodes, () => running.flatMap(({ lines }) => lines.slice(-5)).join('\n'))
        } finally {
          await Promise.all(running.map((each) => each.stop('SIGKILL')))
        }
        await assertRight(cluster, nodes)
        return `${nodes / 2} Nodes, ${kills} kills`
      },
    )
    await report.test('a range that is deleted stays until its last Node is deleted', () =>
      endsWithItsNodes(cluster, program, kubeconfig),
    )
  } finally {
    cluster.close()
    await server.stop()
  }
}

function namesOf(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from }, (_, nth) => `node-${String(from + nth).padStart(4, '0')}`)
}

/** Each Node has a subnet of each family of one range, and no two of them overlap. */
async function assertRight(cluster: Cluster, count: number): Promise<void> {
  const nodes = await cluster.nodes()
  assert.equal(nodes.length, count)
  const given = nodes.flatMap(({ spec }) => spec.podCIDRs ?? [])
  assert.equal(given.length, 2 * count)
  // all subnets of a family have one length: those that overlap are the same
  assert.equal(new Set(given).size, given.length)
  for (const { metadata, spec } of nodes) {
    const [v4, v6] = (spec.podCIDRs ?? []).map((text) => Prefix.parse(text))
    const isOfOne = SPECS.some(
      ({ ipv4, ipv6 }) => Prefix.contains(Prefix.parse(ipv4!), v4!) && Prefix.contains(Prefix.parse(ipv6!), v6!),
    )
    assert(isOfOne, `${metadata.name}: ${spec.podCIDRs?.join()}`)
    assert.equal(spec.podCIDR, spec.podCIDRs?.[0])
  }
}

async function endsWithItsNodes(cluster: Cluster, program: string, kubeconfig: string): Promise<string> {
  const controller = new ControllerProcess(program, kubeconfig)
  const explain = () => controller.lines.slice(-20).join('\n')
  try {
    await cluster.deleteRange('range-0')
    const inside = Prefix.parse(SPECS[0]!.ipv4!)
    const users = (await cluster.nodes()).filter(({ spec }) =>
      Prefix.contains(inside, Prefix.parse(spec.podCIDRs![0]!)),
    )
    assert(users.length > 1)
    const [last, ...others] = users.map(({ metadata }) => metadata.name)
    await cluster.deleteNodes(...others)
    await cluster.addNode('added')
    const [subnet] = await cluster.untilServed('added', explain)
    assert(await cluster.range('range-0'))
    assert(!Prefix.contains(inside, Prefix.parse(subnet!)), 'a range that is being deleted has given a subnet')
    await cluster.deleteNodes(last!)
    await cluster.untilRangeIsGone('range-0')
    return `${users.length} Nodes deleted`
  } finally {
    await controller.stop()
  }
}
