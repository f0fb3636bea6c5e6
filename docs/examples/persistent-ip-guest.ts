import { VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import { unwrap } from 'ipam-kit/errors'
import { guestNetwork, readGuestSettings } from 'ipam-kit/provider/persistent-ip'

const config = {
  name: 'tenant-blue',
  type: 'ovn-k8s-cni-overlay',
  netAttachDefName: 'shop/blue',
  topology: 'localnet',
  subnets: '10.20.0.0/24',
  allowPersistentIPs: true,
  dns: { nameservers: ['10.20.0.53'] },
}
const storage = {
  ...{ name: 'storage', type: 'macvlan', subnets: '10.30.0.0/24', allowPersistentIPs: true },
  ipam: { type: 'whereabouts', range: '10.30.0.0/24', routes: [{ dst: '0.0.0.0/0', gw: '10.30.0.1' }] },
}
const settingsOf = (name: string, of: object) => {
  const metadata = { name, namespace: 'shop' }
  return unwrap(readGuestSettings({ metadata, spec: { config: JSON.stringify(of) } }))
}
const claimOf = (name: string, network: string, ip: string) => ({
  apiVersion: 'k8s.cni.cncf.io/v1alpha1',
  kind: 'IPAMClaim',
  metadata: { name, namespace: 'shop' },
  spec: { network, interface: '' },
  status: { ips: [ip] },
})

const machine = VirtualMachineInstance.parse({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachineInstance',
  metadata: { name: 'db', namespace: 'shop' },
  spec: {
    networks: ['blue', 'storage'].map((name) => ({ name, multus: { networkName: name } })),
    domain: {
      devices: {
        interfaces: [
          { name: 'blue', macAddress: '02:00:00:00:00:01' },
          { name: 'storage', macAddress: '02:00:00:00:00:02' },
        ],
      },
    },
  },
})
const settings = new Map([
  ['blue', settingsOf('blue', config)],
  ['storage', settingsOf('storage', storage)],
])
const claims = new Map([
  ['blue', claimOf('db.blue', 'tenant-blue', '10.20.0.1/24')],
  ['storage', claimOf('db.storage', 'storage', '10.30.0.7/24')],
])

const interfaces = (machine.spec.domain?.devices?.interfaces ?? []).map(({ name, macAddress = '' }) => ({
  network: name,
  mac: macAddress,
  claim: claims.get(name)!,
  settings: settings.get(name)!,
}))
const guest = guestNetwork(interfaces)
if (guest.kind === 'refused') for (const { network, message } of guest.problems) console.log(`${network}: ${message}`)
else for (const [id, nic] of Object.entries(guest.data.ethernets)) console.log(`${id}: ${JSON.stringify(nic)}`)
