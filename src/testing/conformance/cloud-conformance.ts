import { check } from '../../errors/check.js'
import { CloudBench, type CloudFeature, type CloudUnderTest } from './cloud-bench.js'
import { cloudRules } from './cloud-rules.js'
import type { ConformanceCase } from './harness.js'

export interface CloudConformanceOptions {
  /** Makes a cloud for one case. Its lists show each change at once. */
  readonly open: () => CloudUnderTest | Promise<CloudUnderTest>
  /**
   * What the cloud supports beside the interface. Cases that need something else are left out.
   * Default: all but `troubles`.
   */
  readonly features?: readonly CloudFeature[] | undefined
}

/**
 * The rules of `Cloud` as named cases, for any test runner: what a pool of external addresses
 * requires of a cloud.
 *
 * @example
 * const open = () => {
 *   const cloud = new FakeCloud({ now: () => 0 })
 *   const network = cloud.addNetwork({ name: 'public', cidrs: ['203.0.113.0/24'] }).id
 *   const port = cloud.addPort({ device: 'server', network, fixedIPs: [] }).id
 *   const operator = {
 *     create: async ({ tags }) => cloud.show(cloud.byHand.create({ network, tags })),
 *     attach: async (id) => cloud.byHand.attach(id, port),
 *   }
 *   return { cloud, access: {}, network: null, unknownNetwork: { id: 'none' }, operator }
 * }
 * for (const { run } of cloudConformance({ open })) await run() // or: test(name, run)
 */
export function cloudConformance(options: CloudConformanceOptions): readonly ConformanceCase[] {
  check('cloudConformance', 'options', options, ['open', { open: 'function' }])
  const { open, features = ['defaultNetwork', 'tags', 'attachments'] } = options
  const rules = Object.entries(cloudRules).filter(([, { needs }]) => needs === undefined || features.includes(needs))
  return rules.map(([name, rule]) => ({ name, run: async () => rule.run(await CloudBench.open(await open())) }))
}
