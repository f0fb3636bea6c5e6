/**
 * Every typed Kubernetes object of the package, as one namespace for each API group. Import a
 * single group from its own entry, such as `ipam-kit/crd/in-cluster`, to bundle less.
 *
 * @module ipam-kit/crd
 */
export * as ClusterApi from './cluster-api/index.js'
export * as Core from './core/index.js'
export * as InCluster from './in-cluster/index.js'
export * as IpamKit from './ipam-kit/index.js'
export * as IpamClaims from './ipamclaims/index.js'
export * as KubeVirt from './kubevirt/index.js'
export * as Meta from './meta/index.js'
export * as Metal3 from './metal3/index.js'
export * as Multinet from './multinet/index.js'
export * as Networking from './networking/index.js'
export * as NodeIpam from './node-ipam/index.js'
export * as OpenStack from './openstack/index.js'
export * as Ovn from './ovn/index.js'
export * as Webhook from './webhook/index.js'
export * as Whereabouts from './whereabouts/index.js'
