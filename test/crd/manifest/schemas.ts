import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { poolModels, withPoolConditions } from 'ipam-kit/crd/in-cluster'
import * as IpamKit from 'ipam-kit/crd/ipam-kit'
import { IPAMClaim, IPAMClaimWithRequests } from 'ipam-kit/crd/ipamclaims'
import * as KubeVirt from 'ipam-kit/crd/kubevirt'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { type CrdModel, groupOf, type KubeObject } from 'ipam-kit/crd/meta'
import * as Metal3 from 'ipam-kit/crd/metal3'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import * as OpenStack from 'ipam-kit/crd/openstack'
import * as Ovn from 'ipam-kit/crd/ovn'
import * as Whereabouts from 'ipam-kit/crd/whereabouts'

const crdModels: readonly CrdModel<KubeObject>[] = [
  IPAddressClaim,
  IPAddress,
  ...poolModels,
  ...poolModels.map((model) => withPoolConditions(model)),
  Metal3.IPPool,
  Metal3.IPClaim,
  Metal3.IPAddress,
  IpamKit.IPPool,
  IpamKit.IPBlock,
  IpamKit.IPDomain,
  IpamKit.IPHandle,
  IpamKit.ClusterNetwork,
  ClusterCIDR,
  OpenStack.OpenStackFloatingIPPool,
  OpenStack.OpenStackServer,
  OpenStack.OpenStackMachine,
  OpenStack.OpenStackMachineTemplate,
  NetworkAttachmentDefinition,
  IPAMClaim,
  IPAMClaimWithRequests,
  KubeVirt.VirtualMachine,
  KubeVirt.VirtualMachineInstance,
  Ovn.UserDefinedNetwork,
  Ovn.ClusterUserDefinedNetwork,
  Whereabouts.IPPool,
  Whereabouts.OverlappingRangeIPReservation,
  Whereabouts.NodeSlicePool,
]

/** The schema of every version of every kind. */
export function schemasOf() {
  return crdModels.flatMap((model) =>
    crdManifest(model).spec.versions.map(({ name, schema }) => ({
      name: `${groupOf(model.info.apiVersion)}/${name} ${model.info.kind}`,
      apiVersion: `${groupOf(model.info.apiVersion)}/${name}`,
      model,
      schema: schema.openAPIV3Schema,
    })),
  )
}
