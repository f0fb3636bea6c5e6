import type { CloudFacts } from 'ipam-kit/provider/external'
import { neutron } from 'ipam-kit/provider/openstack'
import { cloudConformance, FakeCloud, neutronHandler } from 'ipam-kit/testing'
import { describe, test } from 'vitest'
import type { CloudFeature, CloudUnderTest } from '../../src/testing/conformance/cloud-bench.js'

const access = { namespace: 'office', identityRef: { name: 'clouds', cloudName: 'one' } }

function worldWith(facts: Partial<CloudFacts>) {
  const cloud = new FakeCloud({ now: () => 1_700_000_000_000, facts })
  const network = cloud.addNetwork({ name: 'public', cidrs: ['203.0.113.0/24'] }).id
  cloud.addNetwork({ name: 'private', cidrs: ['10.0.0.0/24'], isExternal: false })
  const operator: CloudUnderTest['operator'] = {
    create: async ({ tags }) => cloud.show(cloud.byHand.create({ network, tags })),
    attach: async (id) => cloud.byHand.attach(id, cloud.addPort({ device: 'server', network, fixedIPs: [] }).id),
    inject: (operation, trouble) => cloud.inject(operation, trouble),
  }
  const unknownNetwork = { filter: { name: 'none' } }
  return { cloud, access, network: { filter: { name: 'public' } }, unknownNetwork, operator }
}

const features: readonly CloudFeature[] = ['defaultNetwork', 'tags', 'attachments', 'troubles']

const mixes: CloudFacts[] = (['atomic', 'after', 'none'] as const).flatMap((marker) =>
  [false, true].flatMap((choosesAddress) =>
    [false, true].map((listsByMarker) => ({ marker, choosesAddress, listsByMarker })),
  ),
)

describe.each(mixes)('FakeCloud with $marker, $choosesAddress, $listsByMarker', (facts) => {
  for (const { name, run } of cloudConformance({ facts, open: () => worldWith(facts), features })) {
    test(name, run)
  }
})

describe.each([false, true])('neutron over the fake cloud, choosesAddress %j', (choosesAddress) => {
  const auth = {
    auth_url: 'http://openstack.test/v3',
    username: 'capo',
    password: 'secret',
    project_name: 'project',
  }
  const open = () => {
    const world = worldWith({})
    const users = [{ name: 'capo', password: 'secret', project: 'project' }]
    const { send } = neutronHandler(world.cloud, { users })
    const value = { clouds: { one: { auth } } }
    const now = () => world.cloud.nowMs
    return {
      ...world,
      cloud: neutron({ send, now, credentials: async () => ({ ok: true, value }), choosesAddress }),
    }
  }
  const { facts } = open().cloud
  for (const { name, run } of cloudConformance({ facts, open, features })) test(name, run)
})
