import { CloudFigures } from '../docs/examples/floating-ip-controller/figures.js'
import { SubnetFigures } from '../docs/examples/node-ipam-controller/figures.js'
import { FLAGS as NODE_FLAGS, planOf } from '../docs/examples/node-ipam-controller/flags.js'
import { ClaimFigures } from '../docs/examples/persistent-ip/figures.js'
import { parseFlags } from '../docs/examples/program/flags.js'
import { nodeIPAM } from '../src/provider/node-ipam/index.js'
import { ControllerMetrics, type Metric, poolMetrics } from '../src/render/index.js'
import type { ControllerResult } from '../src/run/index.js'

/** A key that was planned. */
const planned = (key: string, outcome: object): ControllerResult =>
  ({ key, kind: 'done', outcome, tookMs: 1 }) as unknown as ControllerResult

/** What a planner reports of one pool. */
const usage = () => [{ pool: 'InClusterIPPool office/printers', family: 4 as const, total: 1n, free: 0n, used: 1n }]

/** The metrics of each controller, with a sample of each. */
export function controllerMetrics(): readonly Metric[] {
  const metrics = new ControllerMetrics()
  metrics.onResult(planned('key', { kind: 'done', message: '' }))
  metrics.onProblem({ kind: 'failed' })
  const load = { waiting: 0, running: 0, calling: 0, unsettled: 0 } as never
  const queues = [{ planner: 'in-cluster', waiting: 0, oldestMs: 0 } as never]
  return [...metrics.metrics({ load, queues }), ...poolMetrics([{ usage }])]
}

/** The metrics of the node IPAM controller beside them, with the names that given flags add. */
export function nodeIPAMMetrics(...flags: readonly string[]): readonly Metric[] {
  const range = ['--ranges', 'flags', '--cluster-cidr', '10.0.0.0/16']
  const planner = nodeIPAM(planOf(parseFlags(NODE_FLAGS, range)).options)
  const figures = new SubnetFigures(planner, planOf(parseFlags(NODE_FLAGS, flags)).parity)
  for (const key of ['Node n1', 'ClusterCIDR pods']) figures.observe(planned(key, { kind: 'waiting', message: '' }))
  return figures.metrics()
}

/** The metrics of the floating IP controller beside them. */
export async function floatingIPMetrics(): Promise<readonly Metric[]> {
  const figures = new CloudFigures({ ledgerOf: () => ({ size: 0, report: undefined }) })
  for (const kind of ['OpenStackFloatingIPPool', 'OpenStackServer']) {
    figures.observe(planned(`${kind} default/one`, { kind: 'ready', message: '' }))
  }
  await figures.counted(async () => ({ ok: true }) as never)({ operation: 'list' } as never)
  return figures.metrics()
}

/** The metrics of both programs of persistent IPs beside them. */
export function persistentIPMetrics(): readonly Metric[] {
  const figures = new ClaimFigures('IPAMClaim')
  figures.observe(planned('IPAMClaim default/one', { kind: 'served', message: '' }))
  return figures.metrics()
}
