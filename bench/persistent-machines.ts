import { Address, Prefix } from 'ipam-kit/cidr'
import { Pod } from 'ipam-kit/crd/core'
import { blockName, IPBlock } from 'ipam-kit/crd/ipam-kit'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { VirtualMachine, VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import type { KindInfo, KubeObject } from 'ipam-kit/crd/meta'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'

/** The network of all machines: a /16 for each 60,000 of them. */
export function definition(): KubeObject {
  const config = JSON.stringify({
    ...{ name: 'lab', type: 'ovn-k8s-cni-overlay', topology: 'layer2', netAttachDefName: 'ns/blue' },
    ...{ subnets: '10.0.0.0/12', allowPersistentIPs: true },
  })
  return ofKind(NetworkAttachmentDefinition, metadataOf('blue', 0), { spec: { config } })
}

export function addressOf(nth: number): string {
  return `${Address.format(Address.from4(0x0a000001 + nth))}/12`
}

/** A claim with its address. */
export function claimOf(nth: number): KubeObject {
  const conditions = [
    {
      ...{ type: 'IPsAllocated', status: 'True', reason: 'SuccessfulAllocation' },
      ...{ message: 'IP addresses successfully allocated', lastTransitionTime: '2026-01-01T00:00:00Z' },
    },
  ]
  const { apiVersion, kind } = VirtualMachine.info
  const owner = { apiVersion, kind, name: `vm-${nth}`, uid: `vm-${nth}`, controller: true, blockOwnerDeletion: true }
  const metadata = {
    ...metadataOf(`vm-${nth}.blue`, nth),
    labels: { 'kubevirt.io/vm': `vm-${nth}` },
    finalizers: ['kubevirt.io/persistent-ipam'],
    ownerReferences: [owner],
  }
  const status = { ips: [addressOf(nth)], ownerPod: { name: `pod-${nth}` }, conditions }
  return ofKind(IPAMClaim, metadata, { spec: { network: 'lab', interface: '' }, status })
}

/** What a Pod of a machine has of its networks. Without `isServed` it has no address yet. */
export function annotationsOf(nth: number, isServed = true): { readonly [key: string]: string } {
  const element = { name: 'blue', namespace: 'ns', 'ipam-claim-reference': `vm-${nth}.blue` }
  const entry = {
    ip_addresses: [addressOf(nth)],
    mac_address: `0a:58:0a${`${nth}`.padStart(6, '0').replaceAll(/../g, ':$&')}`,
    role: 'secondary',
  }
  return {
    'k8s.v1.cni.cncf.io/networks': JSON.stringify([element]),
    ...(isServed && { 'k8s.ovn.org/pod-networks': JSON.stringify({ 'ns/blue': entry }) }),
  }
}

export function podOf(nth: number, isServed: boolean, version = nth): KubeObject {
  const { apiVersion, kind } = VirtualMachineInstance.info
  const owner = { apiVersion, kind, name: `vm-${nth}`, uid: `vmi-${nth}` }
  const annotations = annotationsOf(nth, isServed)
  const metadata = { ...metadataOf(`pod-${nth}`, version), annotations, ownerReferences: [owner] }
  return ofKind(Pod, metadata, { spec: { nodeName: `node-${nth % 500}` }, status: { phase: 'Running' } })
}

/** A Pod of the second half: it has an address, and no claim. */
export function plainPod(nth: number): KubeObject {
  const { metadata, ...rest } = podOf(nth, true)
  const annotations = {
    ...metadata.annotations,
    'k8s.v1.cni.cncf.io/networks': JSON.stringify([{ name: 'blue', namespace: 'ns' }]),
  }
  return { ...rest, metadata: { ...metadata, annotations } }
}

/** Units of a block. */
const UNITS = 256
/** The domain of the network. */
const DOMAIN = 'persistent-ips.net.lab'

/** The blocks with the rows of the claims, and of the Pods after them. */
export function* blocksOf(claims: number, pods = claims): Generator<KubeObject> {
  for (let block = 0; block * UNITS < 1 + pods; block++) {
    const rows: { [unit: string]: object } = {}
    for (let unit = 0; unit < UNITS; unit++) {
      const nth = block * UNITS + unit - 1
      if (nth >= 0 && nth < pods) rows[unit] = { ...ownerOf(nth, nth < claims), sequence: 1 + nth }
    }
    const prefix = Prefix.of(Address.from4(0x0a000000 + block * UNITS), 24)
    const name = blockName(DOMAIN, prefix)
    const metadata = { uid: name, name, resourceVersion: '1', finalizers: ['ipam-kit.dev/rows'] }
    const known = { domain: DOMAIN, allocationPrefixLength: 32, pool: DOMAIN, cidr: Prefix.format(prefix) }
    yield ofKind(IPBlock, metadata, { spec: { ...known, sequence: 1 + pods, last: UNITS - 1, rows } })
  }
}

function ownerOf(nth: number, isClaim: boolean): object {
  const { kind } = IPAMClaim.info
  if (isClaim) return { owner: `ns/vm-${nth}.blue`, uid: `vm-${nth}.blue`, kind: `${kind}.k8s.cni.cncf.io` }
  return { owner: `ns/pod-${nth}`, uid: `pod-${nth}`, interface: 'ns/blue' }
}

export function machineOf(nth: number): KubeObject {
  return ofKind(VirtualMachine, metadataOf(`vm-${nth}`, nth), { spec: { template: { spec: specOf() } } })
}

export function instanceOf(nth: number, version = nth): KubeObject {
  const metadata = { ...metadataOf(`vm-${nth}`, version), uid: `vmi-${nth}` }
  return ofKind(VirtualMachineInstance, metadata, { spec: specOf(), status: { activePods: {} } })
}

function specOf() {
  const interfaces = [{ name: 'blue', bridge: {} }]
  return { networks: [{ name: 'blue', multus: { networkName: 'blue' } }], domain: { devices: { interfaces } } }
}

function metadataOf(name: string, version: number) {
  return { namespace: 'ns', name, uid: name, resourceVersion: `${version + 1}` }
}

function ofKind(
  { info: { apiVersion, kind } }: { readonly info: KindInfo },
  metadata: object,
  rest: object,
): KubeObject {
  return { apiVersion, kind, metadata, ...rest } as KubeObject
}
