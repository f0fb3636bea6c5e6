import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { readerOf } from '../meta/reader.js'
import { kubeObject, object, text } from '../meta/strict.js'
import { API_VERSION } from './names.js'

/**
 * A network that Pods can have an interface in (k8s.cni.cncf.io/v1): a CNI configuration as text.
 * `readNetworkConfig` reads it.
 */
export interface NetworkAttachmentDefinition extends KubeObject {
  readonly spec: NetworkAttachmentDefinitionSpec
}

export interface NetworkAttachmentDefinitionSpec {
  /**
   * The CNI configuration, as JSON. Left out or empty: the node has it in a file that is named like
   * the network.
   */
  readonly config?: string | undefined
}

export const NetworkAttachmentDefinition: CrdModel<NetworkAttachmentDefinition> = /* @__PURE__ */ defineCrdModel({
  info: {
    apiVersion: API_VERSION,
    kind: 'NetworkAttachmentDefinition',
    plural: 'network-attachment-definitions',
    namespaced: true,
    statusSubresource: false,
  },
  schema: readerOf(networkAttachmentDefinition),
  shortNames: ['net-attach-def'],
  categories: [],
  singular: 'network-attachment-definition',
  versions: [{ apiVersion: API_VERSION, columns: [], schema: networkAttachmentDefinition }],
})

function networkAttachmentDefinition() {
  const spec = object('The network.', {
    config: text('The CNI configuration as JSON. Left out: the node has it in a file.').optional(),
  })
  return kubeObject('A network that pods can have an interface in.', { spec: spec.optional() })
}
