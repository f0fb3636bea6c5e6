import type { AdmissionRequest, Admit } from '../meta/admission.js'
import { ClusterNetwork } from './cluster-network.js'
import { admissionBy } from './judge.js'

/** A request to admit a ClusterNetwork. */
export type ClusterNetworkAdmissionRequest = AdmissionRequest<ClusterNetwork>

/**
 * Decides whether a ClusterNetwork fits its schema: each consumer is named once, and the time limit
 * is 1 second or more. The status is not checked: the controller and the consumers write it. An
 * update without a change of the spec is always allowed.
 *
 * A warning reports a time limit without a consumer.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation
 * @example
 * const spec = { consumers: [{ name: 'kube-proxy' }], acceptanceSeconds: 0 }
 * const object = ClusterNetwork.parse({ apiVersion: 'ipam-kit.dev/v1alpha1', kind: 'ClusterNetwork', metadata: { name: 'pods' }, spec })
 * admitClusterNetwork({ operation: 'CREATE', object }).errors.map(({ path, detail }) => `${path}: ${detail}`)
 * // ['spec.acceptanceSeconds: spec.acceptanceSeconds in body should be greater than or equal to 1']
 */
export const admitClusterNetwork: Admit<ClusterNetworkAdmissionRequest> = /* @__PURE__ */ admissionBy(ClusterNetwork, {
  errors: () => [],
  warnings: ({ spec: { consumers = [], acceptanceSeconds } }) =>
    acceptanceSeconds !== undefined && consumers.length === 0
      ? ['spec.acceptanceSeconds has no effect: spec.consumers names no consumer']
      : [],
})
