import type { Store } from 'ipam-kit/store'
import type { Sandbox } from './attachments.js'
import { PODS, podRef } from './kinds.js'

export const NETWORK_STATUS = 'k8s.v1.cni.cncf.io/network-status'

/** What Multus writes when all interfaces of a Pod are there. */
export async function writeStatus(store: Store, { pod, attachments }: Sandbox): Promise<void> {
  const ref = podRef(pod.name)
  const entries = [
    { name: 'cluster', interface: 'eth0', ips: ['10.244.0.9'], mac: '02:00:00:00:00:01', default: true, dns: {} },
    ...attachments.map(({ ifname, network, granted = [] }) => {
      return {
        name: `${PODS}/${network.name}`,
        interface: ifname,
        ips: [...granted],
        mac: '02:00:00:00:00:02',
        dns: {},
      }
    }),
  ]
  const text = pod.tells === 'no JSON' ? '[{"name": ' : JSON.stringify(entries)
  if (pod.tells !== 'never') await store.patch(ref, { metadata: { annotations: { [NETWORK_STATUS]: text } } })
  await store.patch(ref, { status: { phase: 'Running' } }, { subresource: 'status' })
}
