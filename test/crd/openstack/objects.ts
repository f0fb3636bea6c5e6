import {
  OpenStackFloatingIPPool,
  OpenStackMachine,
  OpenStackMachineTemplate,
  OpenStackServer,
} from 'ipam-kit/crd/openstack'
import { API_VERSION_V1ALPHA1, API_VERSION_V1BETA2 } from '../../../src/crd/openstack/names.js'

export const identityRef = { name: 'cloud', cloudName: 'openstack' }
export const poolRef = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'OpenStackFloatingIPPool', name: 'blue' }

const named = (apiVersion: string, kind: string, spec: object, metadata: object = {}) => ({
  ...{ apiVersion, kind, spec },
  metadata: { name: 'a', namespace: 'default', ...metadata },
})

export function poolJson(spec: object = {}, metadata: object = {}) {
  const { kind } = OpenStackFloatingIPPool.info
  return named(API_VERSION_V1ALPHA1, kind, { identityRef, reclaimPolicy: 'Delete', ...spec }, metadata)
}

export function pool(spec: object = {}, metadata: object = {}): OpenStackFloatingIPPool {
  return OpenStackFloatingIPPool.parse(poolJson(spec, metadata))
}

export function server(spec: object = {}, metadata: object = {}): OpenStackServer {
  return OpenStackServer.parse(named(API_VERSION_V1ALPHA1, OpenStackServer.info.kind, spec, metadata))
}

export function machine(spec: object = {}, apiVersion = API_VERSION_V1BETA2): OpenStackMachine {
  return OpenStackMachine.parse(named(apiVersion, OpenStackMachine.info.kind, spec))
}

export function template(spec: object = {}, metadata: object = {}): OpenStackMachineTemplate {
  const { kind } = OpenStackMachineTemplate.info
  return OpenStackMachineTemplate.parse(named(API_VERSION_V1BETA2, kind, { template: { spec } }, metadata))
}
