import assert from 'node:assert/strict'
import { Node } from 'ipam-kit/crd/core'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { nodeIPAM } from 'ipam-kit/provider/node-ipam'
import type { Depth, Report } from '../report.js'
import { startKubernetes } from '../servers/kubernetes.js'
import { waitFor } from '../servers/tools.js'
import { Cluster } from './cluster.js'
import { startPlanner } from './planner-line.js'

const NODES: { readonly [D in Depth]: number } = { full: 500, short: 100 }

/** What the planner asks the API server for while Nodes join, counted where it is sent. */
export async function requests(report: Report, depth: Depth): Promise<void> {
  const count = NODES[depth]
  const server = await startKubernetes({ crds: [crdManifest(ClusterCIDR)], bare: true })
  const cluster = new Cluster(server)
  try {
    await report.test('a Node costs one PATCH, and no read', async () => {
      await cluster.addRange('pods', { ipv4: '10.0.0.0/12', ipv6: 'fd00::/100', perNodeHostBits: 8 })
      const running = await startPlanner(server, nodeIPAM(), [Node.info, ClusterCIDR.info])
      const explain = () => running.problems.slice(-5).join('\n')
      try {
        const isOpen = async () => (await cluster.range('pods'))?.metadata.finalizers?.length
        await waitFor(isOpen, { seconds: 60, else: 'the range has no finalizer', explain })
        const before = running.line.answers.length
        await cluster.addNodes(Array.from({ length: count }, (_, nth) => `n${nth}`))
        await cluster.untilAllServed(count, explain)
        // the last Node is seen to be served before the answer of its request has come in
        const isAnswered = () => running.line.answers.length - before >= count
        await waitFor(async () => isAnswered() || undefined, {
          seconds: 30,
          else: 'requests without an answer',
          explain,
        })
        const asked = running.line.answers.slice(before)
        assert.deepEqual(
          asked.filter(({ method, path }) => method !== 'PATCH' || !/^\/api\/v1\/nodes\/n\d+\?/.test(path)),
          [],
        )
        assert.equal(asked.length, count)
      } finally {
        await running.stop()
      }
      assert.deepEqual(running.problems, [])
      return `${count} Nodes, ${count} requests`
    })
  } finally {
    cluster.close()
    await server.stop()
  }
}
