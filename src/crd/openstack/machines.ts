import * as z from 'zod'
import type { Conversion } from '../meta/conversion.js'
import { age, type CrdModel, column, defineCrdModel } from '../meta/crd-model.js'
import type { JsonObject } from '../meta/json.js'
import type { KubeObject } from '../meta/object.js'
import { type LegacyCondition, legacyConditionSchema, objectSchema } from '../meta/schema.js'
import { kubeObject, object, text } from '../meta/strict.js'
import { API_VERSION_V1ALPHA1, API_VERSION_V1BETA1, API_VERSION_V1BETA2 } from './names.js'
import {
  type FloatingIPPoolReference,
  floatingIPPoolReferenceSchema,
  type IdentityReference,
  identityReferenceSchema,
  strictPoolReference,
} from './references.js'

// Of kinds with hundreds of fields these are the few that IPAM reads. Other fields pass through, in
// models and on an API server.

/** What is read of the spec of a server, and of a machine of either version. */
export interface FloatingIPSpec {
  /** The pool that the floating IP is from. Left out: the server has no floating IP. */
  readonly floatingIPPoolRef?: FloatingIPPoolReference | undefined
  readonly identityRef?: IdentityReference | undefined
}

/**
 * A server of OpenStack, as far as its floating IP goes (infrastructure.cluster.x-k8s.io/v1alpha1
 * of cluster-api-provider-openstack).
 */
export interface OpenStackServer extends KubeObject {
  readonly spec: FloatingIPSpec
  readonly status?: OpenStackServerStatus | undefined
}

export interface OpenStackServerStatus {
  /** Id of the server in the cloud. Left out or empty: it was not created yet. */
  readonly instanceID?: string | undefined
  /**
   * In the form of Kubernetes, or in the older one of Cluster API, where no reason stands with
   * `True`.
   */
  readonly conditions?: readonly LegacyCondition[] | undefined
}

/**
 * A machine of OpenStack, as far as its floating IP goes: upstream makes an OpenStackServer of it
 * (infrastructure.cluster.x-k8s.io/v1beta2).
 */
export interface OpenStackMachine extends KubeObject {
  readonly spec: FloatingIPSpec
}

/**
 * What machines are made from, as far as their floating IPs go
 * (infrastructure.cluster.x-k8s.io/v1beta2).
 */
export interface OpenStackMachineTemplate extends KubeObject {
  readonly spec: { readonly template: { readonly spec: FloatingIPSpec } }
}

const spec: z.ZodType<FloatingIPSpec> = z.looseObject({
  floatingIPPoolRef: floatingIPPoolReferenceSchema.optional(),
  identityRef: identityReferenceSchema.optional(),
})

const serverSchema: z.ZodType<OpenStackServer> = objectSchema({
  spec,
  status: z
    .looseObject({ instanceID: z.string().optional(), conditions: z.array(legacyConditionSchema).optional() })
    .optional(),
})

const machineSchema: z.ZodType<OpenStackMachine> = objectSchema({ spec })

const templateSchema: z.ZodType<OpenStackMachineTemplate> = objectSchema({
  spec: z.looseObject({ template: z.looseObject({ spec }) }),
})

/** The subset as a definition: an API server that has it keeps all other fields as they are. */
export const OpenStackServer: CrdModel<OpenStackServer> = /* @__PURE__ */ defineCrdModel({
  info: {
    apiVersion: API_VERSION_V1ALPHA1,
    kind: 'OpenStackServer',
    plural: 'openstackservers',
    namespaced: true,
    statusSubresource: true,
  },
  schema: serverSchema,
  shortNames: ['oss'],
  categories: ['cluster-api'],
  versions: [
    {
      apiVersion: API_VERSION_V1ALPHA1,
      columns: [column('InstanceID', 'Id of the server in the cloud', '.status.instanceID'), age('server')],
      schema: () => kubeObject('A server of OpenStack.', { spec: strictSpec(), status: strictStatus().optional() }),
    },
  ],
})

/**
 * The subset as a definition. It reads v1beta1 as v1beta2: the fields of the subset are the same in
 * both. Upstream's conversion webhook converts the other fields, and `convert` of this model leaves
 * them as they are.
 */
export const OpenStackMachine: CrdModel<OpenStackMachine> = /* @__PURE__ */ defineCrdModel({
  info: {
    apiVersion: API_VERSION_V1BETA2,
    kind: 'OpenStackMachine',
    plural: 'openstackmachines',
    namespaced: true,
    statusSubresource: true,
  },
  schema: machineSchema,
  shortNames: ['osm'],
  categories: ['cluster-api'],
  versions: bothVersions('machine', () =>
    kubeObject('A machine of OpenStack.', { spec: strictSpec(), status: strictStatus().optional() }),
  ),
})

/** As {@link OpenStackMachine}, of templates. */
export const OpenStackMachineTemplate: CrdModel<OpenStackMachineTemplate> = /* @__PURE__ */ defineCrdModel({
  info: {
    apiVersion: API_VERSION_V1BETA2,
    kind: 'OpenStackMachineTemplate',
    plural: 'openstackmachinetemplates',
    namespaced: true,
    statusSubresource: false,
  },
  schema: templateSchema,
  shortNames: ['osmt'],
  categories: ['cluster-api'],
  versions: bothVersions('template', () => {
    const template = object('What a machine is made from.', { spec: strictSpec() }, { keepsUnknown: true })
    return kubeObject('What machines of OpenStack are made from.', { spec: object('The template.', { template }) })
  }),
})

function unchanged(json: JsonObject): ReturnType<Conversion> {
  return { ok: true, value: json }
}

function bothVersions(what: string, schema: () => z.ZodType) {
  const columns = [age(what)]
  return [
    { apiVersion: API_VERSION_V1BETA1, columns, schema, conversion: { toHub: unchanged, fromHub: unchanged } },
    { apiVersion: API_VERSION_V1BETA2, columns, schema },
  ]
}

function strictSpec() {
  const identity = object(
    'Which credentials reach the cloud.',
    { name: text('Name of what has the credentials.'), cloudName: text('The entry in clouds.yaml.') },
    { keepsUnknown: true },
  )
  const shape = { floatingIPPoolRef: strictPoolReference().optional(), identityRef: identity.optional() }
  return object('What is wanted. The fields that IPAM reads, and any others.', shape, { keepsUnknown: true })
}

function strictStatus() {
  const shape = { instanceID: text('Id of the server in the cloud.').optional() }
  return object('What is so. The fields that IPAM reads, and any others.', shape, { keepsUnknown: true })
}
