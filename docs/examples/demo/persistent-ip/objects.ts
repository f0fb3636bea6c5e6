import type { Meta } from 'ipam-kit/crd'
import { Pod } from 'ipam-kit/crd/core'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { VirtualMachine, VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { unwrap } from 'ipam-kit/errors'
import { type NetworkDefinition, readNetwork } from 'ipam-kit/provider/persistent-ip'

export const kinds: readonly Meta.KindInfo[] = [
  NetworkAttachmentDefinition,
  VirtualMachine,
  VirtualMachineInstance,
  IPAMClaim,
  Pod,
].map(({ info }) => info)

export const NAMESPACE = 'shop'

const config = {
  ...{ name: 'tenant-blue', type: 'ovn-k8s-cni-overlay', netAttachDefName: `${NAMESPACE}/blue`, topology: 'layer2' },
  ...{ subnets: '10.20.0.0/28', allowPersistentIPs: true },
}

/** The definition of a network of 14 addresses. */
export const definition = NetworkAttachmentDefinition.parse({
  ...{ apiVersion: NetworkAttachmentDefinition.info.apiVersion, kind: NetworkAttachmentDefinition.info.kind },
  metadata: { namespace: NAMESPACE, name: 'blue' },
  spec: { config: JSON.stringify(config) },
})

export const network: NetworkDefinition = unwrap(readNetwork(definition))

export function refTo({ info }: Pick<typeof Pod, 'info'>, name: string): Meta.ObjectRef {
  return { apiVersion: info.apiVersion, kind: info.kind, namespace: NAMESPACE, name }
}

export function machineObject(name: string): Meta.KubeObject {
  const { apiVersion, kind } = VirtualMachine.info
  const spec = { template: { spec: { networks: [{ name: 'blue', multus: { networkName: 'blue' } }] } } }
  return { apiVersion, kind, metadata: { namespace: NAMESPACE, name }, spec }
}

/** The instance of a machine, as KubeVirt makes it. */
export function instanceObject(machine: VirtualMachine): Meta.KubeObject {
  const { apiVersion, kind } = VirtualMachineInstance.info
  const { name } = machine.metadata
  const metadata = { namespace: NAMESPACE, name, ownerReferences: [ownerOf(machine)] }
  return { apiVersion, kind, metadata, spec: machine.spec.template.spec ?? {} }
}

/** A Pod of an instance, before the webhook has seen it. */
export function launcherObject(name: string, instance: Meta.KubeObject, isTarget = false): Meta.KubeObject {
  const labels = {
    ...{ 'kubevirt.io': 'virt-launcher', 'kubevirt.io/created-by': instance.metadata.uid ?? '' },
    ...(isTarget && { 'kubevirt.io/migrationJobUID': `migration-to-${name}` }),
  }
  const annotations = { 'kubevirt.io/domain': instance.metadata.name, ...networksOf() }
  return podObject(name, { labels, annotations, ownerReferences: [ownerOf(instance)] })
}

export function podObject(name: string, metadata: Omit<Meta.KubeObject['metadata'], 'name'>): Meta.KubeObject {
  const { apiVersion, kind } = Pod.info
  return { apiVersion, kind, metadata: { namespace: NAMESPACE, name, ...metadata }, spec: { nodeName: 'node-1' } }
}

/** The annotation of a Pod with an interface in the network. */
export function networksOf(claim?: string): { readonly [annotation: string]: string } {
  const selection = {
    name: 'blue',
    namespace: NAMESPACE,
    ...(claim !== undefined && { 'ipam-claim-reference': claim }),
  }
  return { 'k8s.v1.cni.cncf.io/networks': JSON.stringify([selection]) }
}

function ownerOf({ apiVersion, kind, metadata: { name, uid = '' } }: Meta.KubeObject) {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}
