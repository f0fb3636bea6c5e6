import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import { unwrap } from 'ipam-kit/errors'
import { cloudCaller } from 'ipam-kit/provider/external'
import { floatingIPPools } from 'ipam-kit/provider/openstack'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { FakeCloud } from 'ipam-kit/testing'
import { expect, test } from 'vitest'

const kinds = [OpenStackFloatingIPPool, IPAddressClaim, IPAddress, Cluster].map(({ info }) => info)
const { apiVersion, kind } = OpenStackFloatingIPPool.info

/** A program with a store in memory, which gives one claim an address of a cloud that stays. */
async function start(cloud: FakeCloud, now: () => number): Promise<string> {
  const store = memoryStore({ now, kinds })
  const metadata = { namespace: 'shop', name: 'blue' }
  const spec = { identityRef: { name: 'clouds', cloudName: 'openstack' }, reclaimPolicy: 'Delete' }
  unwrap(await store.create({ apiVersion, kind, metadata, spec }))
  const poolRef = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind, name: 'blue' }
  const claim = { ...IPAddressClaim.info, metadata: { namespace: 'shop', name: 'web' } }
  unwrap(
    await store.create({ apiVersion: claim.apiVersion, kind: claim.kind, metadata: claim.metadata, spec: { poolRef } }),
  )
  await runUntilQuiet(store, [floatingIPPools()], { now, external: cloudCaller(cloud) })
  const { items } = unwrap(await store.list(IPAddress.info))
  return items.map((object) => IPAddress.parse(object).spec.address).join()
}

test('a second start of a program takes over no address of the first', async () => {
  let nowMs = Date.UTC(2026, 0, 2)
  const now = () => nowMs
  const cloud = new FakeCloud({ now })
  cloud.addNetwork({ name: 'public', cidrs: ['203.0.113.0/24'] })
  const first = await start(cloud, now)
  nowMs += 60_000
  const second = await start(cloud, now)
  expect([first, second]).toEqual([expect.stringMatching(/^203/), expect.stringMatching(/^203/)])
  expect(second).not.toBe(first)
})
