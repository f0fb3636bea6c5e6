import assert from 'node:assert/strict'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { admitExample } from '../account.js'
import { ControllerProcess } from '../controller/process.js'
import { pause } from '../pace.js'
import type { Report } from '../report.js'
import { kubeBinary } from '../servers/kube-binaries.js'
import { type RealKubernetes, startKubernetes } from '../servers/kubernetes.js'
import { start } from '../servers/processes.js'
import { Cluster } from './cluster.js'
import { EXAMPLE } from './traces.js'

/**
 * How long a deletion and a Node that is made with subnets have to reach a component, in
 * milliseconds: they are read from a watch, and what comes next must not overtake them.
 */
const NOTICE_MS = 300
/** How many Nodes are made at once. */
const AT_ONCE = 20

/**
 * Flags of kube-controller-manager, and what is done with them: `+` makes a Node and waits for its
 * subnets, `-` deletes one, `=` makes one that has subnets.
 */
interface Comparison {
  readonly flags: string
  readonly steps: string
}

const COMPARISONS: readonly Comparison[] = [
  {
    flags: '--cluster-cidr=10.244.0.0/21 --node-cidr-mask-size=24 --service-cluster-ip-range=10.244.2.0/23',
    steps: '+a +b =c,10.244.4.0/24 +d -a +e +f -d +a +g -b -e +h +b',
  },
  {
    flags:
      '--cluster-cidr=fd00:10:244::/61,10.244.0.0/20 --node-cidr-mask-size-ipv4=23 --node-cidr-mask-size-ipv6=64 --service-cluster-ip-range=10.244.2.0/24',
    steps: '+a +b +c -b +d +e +f -a -d +g +a +b',
  },
]
const MANY = '--cluster-cidr=10.0.0.0/16,fd00::/104 --node-cidr-mask-size-ipv4=24 --node-cidr-mask-size-ipv6=120'

/** A component that gives subnets, running. */
interface Component {
  readonly end: () => Promise<unknown>
  readonly explain?: () => string
}

/** What starts a component with flags of kube-controller-manager. */
type Start = (flags: readonly string[]) => Promise<Component>

/**
 * The example controller and kube-controller-manager do the same work on one API server, one after
 * the other.
 */
export async function manager(report: Report, program: string): Promise<void> {
  const server = await startKubernetes({ crds: [crdManifest(ClusterCIDR)], bare: true })
  const cluster = new Cluster(server)
  try {
    const theirs = await startOfManager(server)
    const ours = await startOfExample(server, program)
    for (const { flags, steps } of COMPARISONS) {
      await report.test(`Nodes made one at a time get what kube-controller-manager gives: ${flags}`, async () => {
        const taken = (start: Start) => played(cluster, start, flags, (explain) => oneAtATime(cluster, steps, explain))
        const expected = await taken(theirs)
        assert.deepEqual(await taken(ours), expected)
        return `${expected.length} Nodes`
      })
    }
    await report.test(`${AT_ONCE} Nodes made at once get the set that kube-controller-manager gives`, async () => {
      const taken = (start: Start) => played(cluster, start, MANY, (explain) => allAtOnce(cluster, explain))
      const expected = await taken(theirs)
      assert.deepEqual(await taken(ours), expected)
      return undefined
    })
  } finally {
    cluster.close()
    await server.stop()
  }
}

/**
 * kube-controller-manager with this one loop. It says nothing about itself: it is there when Nodes
 * get subnets.
 */
async function startOfManager(server: RealKubernetes): Promise<Start> {
  const command = await kubeBinary('kube-controller-manager')
  const common = ['--controllers=node-ipam-controller', '--allocate-node-cidrs', '--leader-elect=false']
  return (flags) => {
    const args = [`--kubeconfig=${server.kubeconfig.path}`, '--secure-port=0', ...common, ...flags]
    const name = 'kube-controller-manager'
    return start({ name, command, args, ready: async () => true, readySeconds: 60 }, server.folder)
  }
}

async function startOfExample(server: RealKubernetes, program: string): Promise<Start> {
  const kubeconfig = await admitExample(server, EXAMPLE)
  return async (flags) => {
    const controller = new ControllerProcess(program, kubeconfig, ['--ranges', 'flags', ...flags])
    await controller.untilItLeads()
    return { end: () => controller.stop(), explain: () => controller.lines.slice(-20).join('\n') }
  }
}

/** Starts a component, does something, and leaves no Node behind. */
async function played<T>(
  cluster: Cluster,
  start: Start,
  flags: string,
  work: (explain: Component['explain']) => Promise<T>,
): Promise<T> {
  const component = await start(flags.split(' '))
  try {
    return await work(component.explain)
  } finally {
    await component.end()
    await cluster.clear()
  }
}

/** @returns the subnets of each Node that was made, in the order of the steps */
async function oneAtATime(cluster: Cluster, steps: string, explain: Component['explain']): Promise<readonly string[]> {
  const taken: string[] = []
  for (const step of steps.split(' ')) {
    const [name = '', ...podCIDRs] = step.slice(1).split(',')
    if (step.startsWith('+')) {
      await cluster.addNode(name)
      taken.push(`${name} ${(await cluster.untilServed(name, explain)).join()}`)
      continue
    }
    if (step.startsWith('=')) await cluster.addNode(name, { podCIDRs })
    else await cluster.deleteNodes(name)
    await pause(NOTICE_MS)
  }
  return taken
}

/** @returns all subnets that were given, sorted */
async function allAtOnce(cluster: Cluster, explain: Component['explain'] = () => ''): Promise<readonly string[]> {
  await cluster.addNodes(Array.from({ length: AT_ONCE }, (_, nth) => `n${nth}`))
  await cluster.untilAllServed(AT_ONCE, explain)
  return (await cluster.nodes()).flatMap(({ spec }) => spec.podCIDRs ?? []).sort()
}
