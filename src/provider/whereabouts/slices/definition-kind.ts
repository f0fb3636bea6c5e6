import type { KindInfo } from '../../../crd/meta/object.js'

/** NetworkAttachmentDefinition (k8s.cni.cncf.io/v1), as far as it is watched. */
export const DEFINITION: KindInfo = {
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  plural: 'network-attachment-definitions',
  namespaced: true,
  statusSubresource: false,
}
