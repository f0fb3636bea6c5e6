import { neutron } from 'ipam-kit/provider/openstack'
import { cloudConformance, FakeCloud, neutronHandler } from 'ipam-kit/testing'
import { describe, test } from 'vitest'
import type { CloudFeature, CloudUnderTest } from '../../src/testing/conformance/cloud-bench.js'

const access = { namespace: 'office', identityRef: { name: 'clouds', cloudName: 'one' } }

function worldWith(options: { readonly limitsLists?: boolean } = {}) {
  const cloud = new FakeCloud({ now: () => 1_700_000_000_000, ...options })
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

describe.each([false, true])('FakeCloud, limitsLists %j', (limitsLists) => {
  for (const { name, run } of cloudConformance({ open: () => worldWith({ limitsLists }), features })) test(name, run)
})

describe('neutron over the fake cloud', () => {
  const auth = {
    auth_url: 'http://openstack.test/v3',
    username: 'capo',
    password: 'secret',
    project_name: 'project',
  }
  const open = () => {
    const world = worldWith()
    const users = [{ name: 'capo', password: 'secret', project: 'project' }]
    const { send } = neutronHandler(world.cloud, { users })
    const value = { clouds: { one: { auth } } }
    const now = () => world.cloud.nowMs
    return { ...world, cloud: neutron({ send, now, credentials: async () => ({ ok: true, value }) }) }
  }
  for (const { name, run } of cloudConformance({ open, features })) test(name, run)
})
