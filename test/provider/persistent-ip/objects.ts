import { VirtualMachine, VirtualMachineInstance, type VMNetwork } from 'ipam-kit/crd/kubevirt'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'

/** A definition whose network lets addresses stay. */
export function nad(
  name: string,
  config: object | string = { name: `net-${name}`, allowPersistentIPs: true },
): KubeObject {
  const { apiVersion, kind } = NetworkAttachmentDefinition.info
  const text = typeof config === 'string' ? config : JSON.stringify(config)
  return { apiVersion, kind, metadata: { namespace: 'ns1', name }, spec: { config: text } }
}

/** Networks by their names: `blue` is of the definition `blue`, `a=blue` is named `a`. */
export function networksOf(...texts: readonly string[]): readonly VMNetwork[] {
  return texts.map((text) => {
    const [name = '', networkName = name] = text.split('=')
    return { name, multus: { networkName } }
  })
}

export function machine(name: string, ...networks: readonly string[]): KubeObject {
  const { apiVersion, kind } = VirtualMachine.info
  // KubeVirt has another one, which keeps the machine while its instance exists
  const metadata = { namespace: 'ns1', name, finalizers: ['kubevirt.io/virtualMachineControllerFinalize'] }
  return { apiVersion, kind, metadata, spec: { template: { spec: { networks: networksOf(...networks) } } } }
}

/** An instance, of a machine or of none. */
export function instance(name: string, of: KubeObject | undefined, ...networks: readonly string[]): KubeObject {
  const { apiVersion, kind } = VirtualMachineInstance.info
  const owner = of && { apiVersion, kind: of.kind, name, uid: of.metadata.uid ?? '', controller: true }
  return {
    apiVersion,
    kind,
    metadata: {
      namespace: 'ns1',
      name,
      finalizers: ['foregroundDeleteVirtualMachine'],
      ...(owner && { ownerReferences: [{ ...owner, blockOwnerDeletion: true }] }),
    },
    spec: { networks: networksOf(...networks) },
    status: { activePods: { p1: 'n1' } },
  }
}

/** A Pod of a StatefulSet that names a claim for its interface in `blue`. */
export function claimingPod(name: string, claim: string, owner: string, rest: object = {}): KubeObject {
  const annotations = {
    'k8s.v1.cni.cncf.io/networks': JSON.stringify([{ name: 'blue', 'ipam-claim-reference': claim }]),
    'ipam-kit.dev/claim-owner': owner,
  }
  const labels = { 'ipam-kit.dev/persistent-ips': 'true' }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'ns1', name, labels, annotations, ...rest }, spec: {} }
}

export function statefulSet(name: string): KubeObject {
  return { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { namespace: 'ns1', name }, spec: { replicas: 2 } }
}

/** The store without a finalizer of an object: what KubeVirt does at the end of it. */
export const UNHELD = { metadata: { finalizers: null } }
