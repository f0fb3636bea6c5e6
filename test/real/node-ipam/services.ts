import assert from 'node:assert/strict'
import { Prefix } from 'ipam-kit/cidr'
import { Service } from 'ipam-kit/crd/core'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { IPAddress, ServiceCIDR } from 'ipam-kit/crd/networking'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import { Client, eachOf } from '../controller/client.js'
import { paced } from '../pace.js'
import type { Depth, Report } from '../report.js'
import { startKubernetes } from '../servers/kubernetes.js'
import { waitFor } from '../servers/tools.js'
import { startPlanner } from './planner-line.js'

const ROUNDS: { readonly [D in Depth]: number } = { full: 3, short: 1 }
const SERVICES = 200
const AT_ONCE = 8
const SECONDS = 60
/** Shorter than the pause between the two writes of a Service on a slow machine it must not be. */
const GRACE_SECONDS = 5
const SECOND = '10.0.9.0/25'

const PATHS = {
  services: '/api/v1/namespaces/default/services',
  addresses: `/apis/${IPAddress.info.apiVersion}/${IPAddress.info.plural}`,
  ranges: `/apis/${ServiceCIDR.info.apiVersion}/${ServiceCIDR.info.plural}`,
}

/**
 * `serviceIPs` beside the allocator of kube-apiserver, while Services and ServiceCIDRs come and go.
 * There is no kube-controller-manager: the finalizer, the condition and the end of the second
 * ServiceCIDR are the planner's.
 */
export async function services(report: Report, depth: Depth): Promise<void> {
  const server = await startKubernetes({ bare: true })
  const client = new Client(server, AT_ONCE)
  try {
    for (let round = 0; round < ROUNDS[depth]; round++) {
      await report.test(
        `${SERVICES} Services while a ServiceCIDR comes and goes: nothing to repair, no orphan`,
        async () => {
          const planner = serviceIPs({ seed: 1, graceSeconds: paced(GRACE_SECONDS) })
          const kinds = [Service.info, IPAddress.info, ServiceCIDR.info]
          const running = await startPlanner(server, planner, kinds)
          const explain = () => [...running.problems, ...running.events.map(({ message }) => message)].join('\n')
          try {
            await comeAndGo(client, explain)
            // what has to be repaired is repaired after the grace period
            await new Promise((resolve) => setTimeout(resolve, paced(GRACE_SECONDS + 1) * 1000))
          } finally {
            await running.stop()
          }
          assert.deepEqual(running.problems, [])
          assert.deepEqual(running.events, [])
          const written = running.line.answers.filter(({ method }) => method !== 'GET')
          // finalizers and conditions of ServiceCIDRs are the planner's
          const others = written.filter(({ path }) => !/\/servicecidrs\/(kubernetes|second)(\/status)?\?/.test(path))
          assert.deepEqual(others, [])
          await assertPaired(client)
          return `${running.line.answers.length} requests, of which ${written.length} are writes of ServiceCIDRs`
        },
      )
    }
  } finally {
    client.close()
    await server.stop()
  }
}

/**
 * Half of the Services are made before there is a second ServiceCIDR. It gets some, and goes while
 * others come.
 */
async function comeAndGo(client: Client, explain: () => string): Promise<void> {
  const make = (name: string, spec: object = {}) =>
    client.send('POST', PATHS.services, {
      body: { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } },
    })
  const remove = (name: string) => client.send('DELETE', `${PATHS.services}/${name}`)
  const names = Array.from({ length: SERVICES }, (_, nth) => `s${nth}`)
  const [before, after] = [names.slice(0, SERVICES / 2), names.slice(SERVICES / 2)]
  const inSecond = Array.from({ length: 5 }, (_, nth) => ({ name: `named-${nth}`, clusterIP: `10.0.9.${10 + nth}` }))
  const { apiVersion, kind } = ServiceCIDR.info
  const range = { apiVersion, kind, metadata: { name: 'second' }, spec: { cidrs: [SECOND] } }
  const first = eachOf(before, AT_ONCE - 2, (name) => make(name))
  await client.send('POST', PATHS.ranges, { body: range })
  const second = async () =>
    (await client.list(PATHS.ranges)).find(({ metadata }) => metadata.name === 'second') as ServiceCIDR | undefined
  // one that is deleted before it has its finalizer is gone at once, whoever has an address of it
  const isKept = async () => (await second())?.status?.conditions?.some(({ status }) => status === 'True') || undefined
  await waitFor(isKept, { seconds: SECONDS, else: 'the ServiceCIDR is not ready', explain })
  await eachOf(inSecond, 1, ({ name, clusterIP }) =>
    // the API server takes a while to see that the ServiceCIDR is ready
    waitFor(() => make(name, { clusterIP }).then(() => true as const), {
      seconds: SECONDS,
      else: `no Service gets ${clusterIP}`,
      explain,
    }),
  )
  await first
  const joining = eachOf(after, AT_ONCE - 2, (name) => make(name))
  await client.send('DELETE', `${PATHS.ranges}/second`)
  await eachOf(before, 2, remove)
  await joining
  assert(await second(), 'a ServiceCIDR has ended while Services have addresses of it')
  const inside = Prefix.parse(SECOND)
  const left = (await servicesOf(client)).filter(
    ({ spec }) => spec.clusterIP !== undefined && Prefix.contains(inside, Prefix.parse(`${spec.clusterIP}/32`)),
  )
  await eachOf(left, 1, ({ metadata }) => remove(metadata.name))
  await waitFor(async () => (await second()) === undefined || undefined, {
    seconds: SECONDS,
    else: 'the ServiceCIDR is still there',
    explain,
  })
  await eachOf(after, AT_ONCE, (name) => client.send('DELETE', `${PATHS.services}/${name}`, { also: [404] }))
}

/** Each address of a Service has its IPAddress, and each IPAddress its Service. */
async function assertPaired(client: Client): Promise<void> {
  const used = (await servicesOf(client)).map(({ spec }) => spec.clusterIPs ?? [])
  const objects = (await client.list(PATHS.addresses)).map(({ metadata }) => metadata.name)
  assert.deepEqual(objects.sort(), used.flat().sort())
}

async function servicesOf(client: Client): Promise<readonly Service[]> {
  return (await client.list(PATHS.services)) as readonly KubeObject[] as readonly Service[]
}
