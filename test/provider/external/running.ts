import type { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import { cloudCaller } from 'ipam-kit/provider/external'
import { Controller, type ExternalCaller } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { FakeCloud } from 'ipam-kit/testing'
import { VirtualTimers } from '../../run/controller/virtual-timers.js'
import { kinds, NAMESPACE, pool, unwrap, World } from './world.js'

export const spares = { annotations: { 'ipam-kit.dev/min-free': '3' } }

/** A controller on a pool of a cloud, for virtual time. @param options `listMs`, `createMs`: how long a list takes, and a creation */
export async function running(
  spec: Parameters<typeof pool>[0] = {},
  { metadata = spares, listMs = 0, createMs = 0 }: { metadata?: object; listMs?: number; createMs?: number } = {},
) {
  const timers = new VirtualTimers()
  const store = memoryStore({ now: () => timers.now(), kinds })
  const cloud = new FakeCloud({ now: () => timers.now() })
  const network = cloud.addNetwork({ name: 'public', cidrs: ['203.0.113.0/24'] }).id
  const caller = cloudCaller(cloud)
  const external: ExternalCaller = async (call) => {
    const answer = await caller(call)
    const takesMs = { listAddresses: listMs, createAddress: createMs }[call.operation] ?? 0
    return takesMs === 0 ? answer : new Promise((resolve) => void timers.after(takesMs, () => resolve(answer)))
  }
  const controller = new Controller({
    ...{ store, timers, planners: [new World().start()], external },
    onProblem: (problem) => {
      throw new Error(problem.kind)
    },
  })
  const ended = controller.run()
  await store.create(pool(spec, metadata))
  const remove = (
    { info: { apiVersion, kind } }: typeof OpenStackFloatingIPPool | typeof IPAddressClaim,
    name: string,
  ) => store.delete({ apiVersion, kind, namespace: NAMESPACE, name })
  const pools = async () => unwrap(await store.list(OpenStackFloatingIPPool.info)).items
  const stop = async () => {
    controller.stop()
    await ended
  }
  return { timers, store, cloud, network, remove, pools, stop }
}
