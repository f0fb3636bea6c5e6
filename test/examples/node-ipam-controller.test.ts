import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Prefix } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { unwrap } from 'ipam-kit/errors'
import { type NodeIPAMOutcome, nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { poolMetrics, prometheusText } from 'ipam-kit/render'
import { Controller } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { SubnetFigures } from '../../docs/examples/node-ipam-controller/figures.js'
import { FLAGS, type Parity, planOf } from '../../docs/examples/node-ipam-controller/flags.js'
import { COMMON_FLAGS, parseFlags, readSettings } from '../../docs/examples/program/flags.js'
import { node, range } from '../provider/node-ipam/objects.js'
import { VirtualTimers } from '../run/controller/virtual-timers.js'
import { isDeep } from '../setup/depth.js'

const folder = new URL('../../docs/examples/node-ipam-controller/', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, folder), 'utf8')
const planned = (...args: readonly string[]) => planOf(parseFlags(FLAGS, args))

describe('the flags of the node IPAM controller', () => {
  test('without any, ClusterCIDRs give the ranges, in numeric order', () => {
    expect(planned()).toEqual({
      options: { order: 'numeric', serviceCIDRs: [], watchServiceCIDRs: false, defaultClusterCIDR: undefined },
      warnings: [],
      parity: undefined,
    })
  })

  test('--network waits for consumers', () => {
    expect(planned('--network', 'pods').options).toMatchObject({ network: 'pods' })
  })

  test('--cluster-cidr makes a ClusterCIDR, with the rule of upstream for its host bits', () => {
    const masks = ['--node-cidr-mask-size-ipv4=24', '--node-cidr-mask-size-ipv6=122']
    const { options, parity } = planned('--cluster-cidr', '10.0.0.7/16,fd00::/112', ...masks, '--order=upstream')
    expect(options.defaultClusterCIDR).toEqual({ perNodeHostBits: 6, ipv4: '10.0.0.0/16', ipv6: 'fd00::/112' })
    expect(parity).toBe('node-ipam-controller')
  })

  test('service ranges are kept free without --cluster-cidr too', () => {
    const { options } = planned('--service-cluster-ip-range=10.96.0.0/12, fd00::/108', '--watch-service-cidrs')
    expect(options.serviceCIDRs?.map(Prefix.format)).toEqual(['10.96.0.0/12', 'fd00::/108'])
    expect(options.watchServiceCIDRs).toBe(true)
  })

  test('--ranges flags reads the command line of kube-controller-manager', () => {
    const args = ['--ranges=flags', '--allocate-node-cidrs=true', '--cluster-cidr=fd00::/62,10.244.0.0/22']
    const { options, parity } = planned(...args, '--node-cidr-mask-size-ipv4=26', '--service-cluster-ip-range=x')
    expect(options.range?.spaces.map(({ prefix, length }) => `${Prefix.format(prefix)} in /${length}`)).toEqual([
      'fd00::/62 in /64',
      '10.244.0.0/22 in /26',
    ])
    expect(parity).toBe('kube-controller-manager')
    expect(planned(...args, '--service-cluster-ip-range=x').warnings).toHaveLength(1)
  })

  test.each([
    [['--ranges', 'paper'], /^--ranges \(paper\) is objects or flags$/],
    [['--order', 'best'], /^--order \(best\) is numeric or upstream$/],
    [['--ranges=flags', '--order=numeric', '--cluster-cidr=10.0.0.0/16'], /^--order is for --ranges objects$/],
    [['--ranges=flags'], /^--cluster-cidr names no range$/],
    [['--ranges=flags', '--cluster-cidr=10.0.0.0/16', '--allocate-node-cidrs=false'], /--allocate-node-cidrs is false/],
    [['--ranges=flags', '--cluster-cidr=10.0.0.0/16,10.1.0.0/16'], /two ranges of IPv4/],
    [['--ranges=flags', '--cluster-cidr=10.0.0.0/16', '--node-cidr-mask-size=8'], /cannot have the length 8/],
    [['--ranges=flags', '--cluster-cidr=fd00::/40'], /more than 65,536 subnets/],
    [['--cluster-cidr=10.0.0.0/16', '--node-cidr-mask-size=x'], /^--node-cidr-mask-size \(x\) must be a whole number/],
    [['--node-cidr-mask-size=24'], /ClusterCIDRs have sizes of their own/],
    [['--service-cluster-ip-range=10.96.0.0'], /^--service-cluster-ip-range: "10\.96\.0\.0" is not a CIDR$/],
    [['--nope'], /Unknown option/],
    [['--allocate-node-cidrs=maybe'], /allocate-node-cidrs/],
  ])('%j is refused in one sentence', (args, sentence) => {
    expect(() => planned(...args)).toThrow(sentence)
  })

  // test/examples/in-cluster-controller.test.ts has one such process
  if (isDeep) {
    test('a mistake is one line and status 2', async () => {
      const main = fileURLToPath(new URL('main.ts', folder))
      const ended = await new Promise<{ readonly status: unknown; readonly err: string }>((resolve) => {
        execFile(process.execPath, ['--import', 'tsx', main, '--ranges', 'flags'], (error, _, err) => {
          resolve({ status: error?.code, err })
        })
      })
      expect(ended).toEqual({ status: 2, err: expect.stringMatching(/^\S+ --cluster-cidr names no range\n$/) })
    })
  }
})

describe('the manifests of the node IPAM controller', () => {
  interface Deployment {
    readonly metadata: { readonly namespace: string }
    readonly spec: {
      readonly template: {
        readonly spec: {
          readonly serviceAccountName: string
          readonly hostNetwork: boolean
          readonly containers: readonly { readonly image: string; readonly args: readonly string[] }[]
        }
      }
    }
  }
  const kustomization = parse(read('kustomization.yaml')) as { resources: string[]; images: { name: string }[] }
  const deployment = parse(read('deployment.yaml')) as Deployment
  const { serviceAccountName, hostNetwork, containers } = deployment.spec.template.spec

  test('name files that are there, and an image that is used', () => {
    for (const file of kustomization.resources) expect(parseAllDocuments(read(file)).length).toBeGreaterThan(0)
    expect(kustomization.images.map(({ name }) => name)).toEqual(containers.map(({ image }) => image))
  })

  test('have a definition that is the generated one', async () => {
    const text = stringify(crdManifest(ClusterCIDR), { lineWidth: 0 })
    const file = fileURLToPath(new URL('clustercidrs.yaml', folder))
    await expect(`# Generated by crdManifest of ipam-kit/crd/manifest\n${text}`).toMatchFileSnapshot(file)
  })

  test('run the program in the network of the node, as the account that has the rights, with flags that it has', () => {
    const account = parseAllDocuments(read('rbac.yaml'))
      .map((document) => document.toJS() as { kind: string; metadata: { name: string; namespace?: string } })
      .find(({ kind }) => kind === 'ServiceAccount')
    expect(account?.metadata).toEqual({ name: serviceAccountName, namespace: deployment.metadata.namespace })
    expect(hostNetwork).toBe(true)
    const values = parseFlags({ ...COMMON_FLAGS, ...FLAGS }, containers[0]!.args)
    expect(readSettings(values)).toMatchObject({ elects: true, metricsPort: 8080, namespace: 'ipam-system' })
    expect(planOf(values).parity).toBeUndefined()
  })
})

/** A controller on a store with a range of eight subnets, and its metrics. */
async function running(parity: Parity | undefined) {
  const timers = new VirtualTimers()
  const store = memoryStore({ now: () => timers.now(), kinds: [Node.info, ClusterCIDR.info] })
  const planner = nodeIPAM()
  const figures = new SubnetFigures(planner, parity)
  const controller = new Controller<NodeIPAMOutcome>({
    store,
    planners: [planner],
    timers,
    onProblem: (problem) => {
      throw new Error(problem.kind)
    },
    onResult: (result) => figures.observe(result),
  })
  // the first subnet is a part of a larger one that a Node has, and the third is in use by half
  unwrap(await store.create(range('a', { ipv4: '10.0.0.0/21' })))
  unwrap(await store.create(node('n1', { podCIDRs: ['10.0.0.0/24'] })))
  unwrap(await store.create(node('n2', { podCIDRs: ['10.0.2.128/25'] })))
  const ended = controller.run()
  const told = async (start: string) => {
    await timers.pass(2000)
    return prometheusText([...poolMetrics([planner]), ...figures.metrics()])
      .split('\n')
      .filter((line) => line.startsWith(start))
  }
  const stop = async () => {
    controller.stop()
    await ended
  }
  return { store, told, stop }
}

describe('the metrics of the node IPAM controller', () => {
  test('tell how many subnets are in use, and what becomes of Nodes and ranges', async () => {
    const { store, told, stop } = await running(undefined)
    for (let n = 3; n <= 10; n++) unwrap(await store.create(node(`n${n}`)))
    // outcomes are in the order in which they came first
    expect(await told('ipam_pool')).toEqual([
      'ipam_pool_total{pool="ClusterCIDR a",family="IPv4"} 8',
      'ipam_pool_used{pool="ClusterCIDR a",family="IPv4"} 8',
      'ipam_pool_free{pool="ClusterCIDR a",family="IPv4"} 0',
    ])
    expect((await told('ipam_node')).sort()).toEqual([
      'ipam_nodes{outcome="ready"} 8',
      'ipam_nodes{outcome="waiting"} 2',
    ])
    unwrap(await store.delete({ apiVersion: 'v1', kind: 'Node', name: 'n9' }))
    unwrap(await store.delete({ apiVersion: 'v1', kind: 'Node', name: 'n10' }))
    unwrap(await store.delete({ apiVersion: 'v1', kind: 'Node', name: 'n2' }))
    unwrap(await store.delete({ ...range('a', {}), name: 'a' }))
    expect(await told('ipam_pool')).toEqual(['ipam_pool_used{pool="ClusterCIDR a",family="IPv4"} 7'])
    expect(await told('ipam_cluster_cidrs')).toEqual(['ipam_cluster_cidrs{outcome="blocked"} 1'])
    expect(await told('node_ipam_controller')).toEqual([])
    await stop()
  })

  test.each([
    ['node-ipam-controller', 'multicidrset', 'multicidrset', '{clusterCIDR="10.0.0.0/21",clusterCIDRName="a"}'],
    ['kube-controller-manager', 'cidrset', 'cirdset', '{clusterCIDR="10.0.0.0/21"}'],
  ] as const)('have the names of %s in parity mode', async (parity, subsystem, misspelt, labels) => {
    const { store, told, stop } = await running(parity)
    unwrap(await store.create(node('n3')))
    unwrap(await store.create(node('n4')))
    const name = `node_ipam_controller_${subsystem}`
    const tries = `${name}_allocation_tries_per_request`
    const within = (le: string) => labels.replace('}', `,le="${le}"}`)
    expect(await told('node_ipam_controller')).toEqual([
      `${name}_cidrs_allocations_total${labels} 4`,
      `${name}_cidrs_releases_total${labels} 0`,
      `${name}_usage_cidrs${labels} 0.5`,
      `node_ipam_controller_${misspelt}_max_cidrs${labels} 8`,
      ...['1', '5', '25', '125', '625', '+Inf'].map((le) => `${tries}_bucket${within(le)} 2`),
      // 10.0.1.0/24 behind one that is in use, 10.0.3.0/24 behind another one
      `${tries}_sum${labels} 2`,
      `${tries}_count${labels} 2`,
    ])
    unwrap(await store.delete({ apiVersion: 'v1', kind: 'Node', name: 'n3' }))
    expect(await told(`${name}_cidrs_releases`)).toEqual([`${name}_cidrs_releases_total${labels} 1`])
    await stop()
  })
})
