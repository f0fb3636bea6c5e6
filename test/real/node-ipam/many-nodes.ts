import assert from 'node:assert/strict'
import { Prefix } from 'ipam-kit/cidr'
import type { Node } from 'ipam-kit/crd/core'
import { SubnetReservations } from 'ipam-kit/crd/ipam-kit'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { ClusterCIDR, type ClusterCIDRSpec } from 'ipam-kit/crd/node-ipam'
import { admitExample } from '../account.js'
import { Client, eachOf } from '../controller/client.js'
import { ControllerProcess } from '../controller/process.js'
import type { Depth, Report } from '../report.js'
import { startKubernetes } from '../servers/kubernetes.js'
import { waitFor } from '../servers/tools.js'
import { EXAMPLE } from './traces.js'

/** How many Nodes join, half of them while one process works, and how often one of two is killed. */
const DEPTHS: { readonly [D in Depth]: { readonly nodes: number; readonly kills: number } } = {
  full: { nodes: 1000, kills: 10 },
  short: { nodes: 200, kills: 2 },
}
const AT_ONCE = 8
const SECONDS = 300
const NODES = '/api/v1/nodes'
const RANGES = `/apis/${ClusterCIDR.info.apiVersion}/${ClusterCIDR.info.plural}`

/** Three ranges that lie apart, of both families. The first two are too small for all. */
const SPECS: readonly ClusterCIDRSpec[] = [
  { ipv4: '10.16.0.0/18', ipv6: 'fd00:1::/114', perNodeHostBits: 8 },
  { ipv4: '10.99.0.0/17', ipv6: 'fd00:2::/113', perNodeHostBits: 8 },
  { ipv4: '172.16.0.0/12', ipv6: 'fd00:3::/108', perNodeHostBits: 8 },
]

/** Bare Nodes join a cluster with three ranges, while one process works, and while one of two is killed again and again. */
export async function manyNodes(report: Report, program: string, depth: Depth): Promise<void> {
  const { nodes, kills } = DEPTHS[depth]
  const crds = [ClusterCIDR, SubnetReservations].map((model) => crdManifest(model))
  const server = await startKubernetes({ crds, bare: true })
  const client = new Client(server, AT_ONCE)
  try {
    const kubeconfig = await admitExample(server, EXAMPLE)
    await eachOf([...SPECS.entries()], 1, ([nth, spec]) => {
      const { apiVersion, kind } = ClusterCIDR.info
      return client.send('POST', RANGES, { body: { apiVersion, kind, metadata: { name: `range-${nth}` }, spec } })
    })
    await report.test('one process gives each Node subnets of one range, in one write', async () => {
      const controller = new ControllerProcess(program, kubeconfig)
      const began = Date.now()
      try {
        await join(client, 0, nodes / 2)
        await untilAllHave(client, nodes / 2, () => controller.lines)
      } finally {
        await controller.stop()
      }
      await assertRight(client, nodes / 2)
      return `${nodes / 2} Nodes in ${((Date.now() - began) / 1000).toFixed(1)} s`
    })
    await report.test('two processes at the same time give no subnet twice while one of them is killed', async () => {
      const start = () => new ControllerProcess(program, kubeconfig, ['--shared'])
      const running = [start(), start()]
      try {
        const joining = join(client, nodes / 2, nodes)
        for (let kill = 0; kill < kills; kill++) {
          await running[kill % 2]!.untilItLeads()
          await new Promise((resolve) => setTimeout(resolve, 300 + ((kill * 137) % 500)))
          await running[kill % 2]!.stop('SIGKILL')
          running[kill % 2] = start()
        }
        await joining
        await untilAllHave(client, nodes, () => running.flatMap(({ lines }) => lines.slice(-5)))
      } finally {
        await Promise.all(running.map((each) => each.stop('SIGKILL')))
      }
      await assertRight(client, nodes)
      return `${nodes / 2} Nodes, ${kills} kills`
    })
    await report.test('a range that is deleted stays until its last Node is deleted', () =>
      endsWithItsNodes(client, program, kubeconfig),
    )
  } finally {
    client.close()
    await server.stop()
  }
}

async function join(client: Client, from: number, to: number): Promise<void> {
  const names = Array.from({ length: to - from }, (_, nth) => `node-${String(from + nth).padStart(4, '0')}`)
  await eachOf(names, AT_ONCE, (name) =>
    client.send('POST', NODES, { body: { apiVersion: 'v1', kind: 'Node', metadata: { name } } }),
  )
}

async function nodesOf(client: Client): Promise<readonly Node[]> {
  return (await client.list(NODES)) as readonly Node[]
}

async function untilAllHave(client: Client, count: number, explain: () => readonly string[]): Promise<void> {
  await waitFor(
    async () => {
      const having = (await nodesOf(client)).filter(({ spec }) => spec.podCIDRs !== undefined)
      return having.length === count || undefined
    },
    { seconds: SECONDS, else: `not all of ${count} Nodes have subnets`, explain: () => explain().join('\n') },
  )
}

/** Each Node has a subnet of each family of one range, and no two of them overlap. */
async function assertRight(client: Client, count: number): Promise<void> {
  const nodes = await nodesOf(client)
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

async function endsWithItsNodes(client: Client, program: string, kubeconfig: string): Promise<string> {
  const controller = new ControllerProcess(program, kubeconfig)
  try {
    await client.send('DELETE', `${RANGES}/range-0`)
    const inside = Prefix.parse(SPECS[0]!.ipv4!)
    const users = (await nodesOf(client)).filter(({ spec }) =>
      Prefix.contains(inside, Prefix.parse(spec.podCIDRs![0]!)),
    )
    assert(users.length > 1)
    const [last, ...others] = users.map(({ metadata }) => metadata.name)
    await eachOf(others, AT_ONCE, (name) => client.send('DELETE', `${NODES}/${name}`))
    await join(client, 9000, 9001)
    const isThere = async () => (await client.list(RANGES)).some(({ metadata }) => metadata.name === 'range-0')
    await waitFor(async () => (await nodesOf(client)).every(({ spec }) => spec.podCIDRs !== undefined) || undefined, {
      seconds: SECONDS,
      else: 'the new Node has no subnets',
    })
    assert(await isThere())
    const added = (await nodesOf(client)).find(({ metadata }) => metadata.name === 'node-9000')
    assert(
      !Prefix.contains(inside, Prefix.parse(added!.spec.podCIDRs![0]!)),
      'a range that is being deleted has given a subnet',
    )
    await client.send('DELETE', `${NODES}/${last}`)
    await waitFor(async () => !(await isThere()) || undefined, { seconds: SECONDS, else: 'the range is still there' })
    return `${users.length} Nodes deleted`
  } finally {
    await controller.stop()
  }
}
