import * as Address from '../../cidr/nouns/address.js'
import type { Kind, KindOf } from '../../errors/check.js'
import {
  type Admission,
  type AdmissionRequest,
  type AdmissionRules,
  type Admit,
  admissionOf,
  admitBy,
  FIELD_VALIDATION,
  type FieldValidationOptions,
} from '../meta/admission.js'
import { differences } from '../meta/differences.js'
import { type FieldError, type FieldValue, forbiddenField, invalidField } from '../meta/field-error.js'
import { asObject, type JsonObject } from '../meta/json.js'
import { type KubeObject, labelOf } from '../meta/object.js'
import {
  type AnnotationResult,
  adoptByTagOf,
  minFreeOf,
  namesOne,
  OpenStackFloatingIPPool,
  type OpenStackFloatingIPPoolSpec,
} from './floating-ip-pool.js'
import { type FloatingIPSpec, OpenStackMachine, OpenStackMachineTemplate, OpenStackServer } from './machines.js'
import { ADOPT_BY_TAG_ANNOTATION, MIN_FREE_ANNOTATION } from './names.js'

/** A request to admit an object of one kind. */
export type OpenStackAdmissionRequest<
  T extends OpenStackFloatingIPPool | OpenStackServer | OpenStackMachine | OpenStackMachineTemplate,
> = AdmissionRequest<T>

export type PoolRequest = OpenStackAdmissionRequest<OpenStackFloatingIPPool>

export interface ImmutabilityOptions extends FieldValidationOptions {
  /**
   * Whether the request is one of a dry run. Cluster API's topology controller compares specs by
   * dry runs of objects with its annotation: they may change anything. Default false.
   */
  readonly isDryRun?: boolean | undefined
}

const IMMUTABILITY: KindOf<ImmutabilityOptions> = { fieldValidation: FIELD_VALIDATION, isDryRun: 'flag?' }

/**
 * Decides whether a pool is valid. Its region is immutable.
 *
 * Upstream has no rules for pools beyond its definition. An error that the object had before the
 * change is a warning, not a refusal.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation or another `fieldValidation`
 */
export const admitOpenStackFloatingIPPool: Admit<PoolRequest> = /* @__PURE__ */ admissionOf<
  OpenStackFloatingIPPool,
  PoolRequest
>('admitOpenStackFloatingIPPool', OpenStackFloatingIPPool, {
  errors: (pool, before) => [
    [...(before === undefined ? [] : regionErrors(before, pool)), ...floatingIPPoolErrors(pool)],
  ],
})

/**
 * What is wrong with a pool beyond its definition, all of it; an empty list if nothing is.
 * O(addresses).
 *
 * - each of `preAllocatedFloatingIPs` is an address, and none is there twice, in whatever form it
 *   is written
 * - `maxIPs` is a whole number, 0 or more
 * - `floatingIPNetwork` has either an id or a filter
 * - the annotations of this library can be read: `minFreeOf`, `adoptByTagOf`
 */
export function floatingIPPoolErrors(pool: Pick<OpenStackFloatingIPPool, 'metadata' | 'spec'>): readonly FieldError[] {
  const { preAllocatedFloatingIPs = [], maxIPs = 0 } = pool.spec
  const isCount = Number.isSafeInteger(maxIPs) && maxIPs >= 0
  return [
    ...addressErrors('spec.preAllocatedFloatingIPs', preAllocatedFloatingIPs),
    ...(isCount ? [] : [invalidField('spec.maxIPs', maxIPs, 'must be a whole number, 0 or more')]),
    ...networkErrors(pool.spec),
    ...annotationErrors(pool, MIN_FREE_ANNOTATION, minFreeOf(pool)),
    ...annotationErrors(pool, ADOPT_BY_TAG_ANNOTATION, adoptByTagOf(pool)),
  ]
}

function addressErrors(list: string, texts: readonly string[]): readonly FieldError[] {
  const places = new Map<string, number>()
  return texts.flatMap((text, index) => {
    const path = `${list}[${index}]`
    const parsed = Address.safeParse(text)
    if (!parsed.ok) return [invalidField(path, text, `is not a valid IP address: ${parsed.failure.message}`)]
    const key = Address.format(Address.unmap(parsed.value))
    const first = places.get(key)
    if (first === undefined) {
      places.set(key, index)
      return []
    }
    return [{ type: 'Duplicate', path, value: text, detail: `is the address of ${list}[${first}]` } as const]
  })
}

function networkErrors({ floatingIPNetwork: network }: OpenStackFloatingIPPoolSpec): readonly FieldError[] {
  if (network === undefined || namesOne(network)) return []
  const value = { ...network } as FieldValue
  return [invalidField('spec.floatingIPNetwork', value, 'must have either an id or a filter')]
}

function annotationErrors(
  { metadata }: Pick<KubeObject, 'metadata'>,
  annotation: string,
  read: AnnotationResult<unknown>,
): readonly FieldError[] {
  if (read.ok) return []
  const value = metadata.annotations?.[annotation] ?? null
  return [invalidField(`metadata.annotations[${annotation}]`, value, `must be ${read.failure.context.expected}`)]
}

/**
 * An API server asks the same by the rule of the definition, of the object of which the region is a
 * field.
 */
function regionErrors(before: OpenStackFloatingIPPool, after: OpenStackFloatingIPPool): readonly FieldError[] {
  const { identityRef } = after.spec
  if (identityRef.region === before.spec.identityRef.region) return []
  return [invalidField('spec.identityRef', { ...identityRef }, 'region is immutable')]
}

/**
 * Whether a server is admitted, as far as the subset goes: its pool reference names a group, and of
 * its spec only `identityRef` changes (pkg/webhooks/openstackserver_webhook.go).
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation or another `fieldValidation`
 */
export function admitOpenStackServer(
  request: OpenStackAdmissionRequest<OpenStackServer>,
  options: ImmutabilityOptions = {},
): Admission {
  return admitBy('admitOpenStackServer', OpenStackServer, serverRules, request, options)
}

const serverRules: AdmissionRules<OpenStackServer, OpenStackAdmissionRequest<OpenStackServer>, ImmutabilityOptions> = {
  options: IMMUTABILITY as Kind,
  errors: (server, before, _, options) => {
    if (before !== undefined && isTopologyDryRun(server, options)) return []
    const isSame = before === undefined || isSameBut(before.spec, server.spec, ['identityRef'])
    return [isSame ? [] : [forbiddenField('spec', SERVER_IS_IMMUTABLE)], referenceErrors('spec', server.spec)]
  },
}

const SERVER_IS_IMMUTABLE = 'OpenStackServer spec field is immutable. Please create a new resource instead.'

/**
 * Whether a machine is admitted, as far as the subset goes: its pool reference names a group, and
 * of its spec only `providerID`, `instanceID`, `identityRef` and `ports[].allowedAddressPairs`
 * change (pkg/webhooks/openstackmachine_webhook.go).
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation or another `fieldValidation`
 */
export const admitOpenStackMachine: Admit<OpenStackAdmissionRequest<OpenStackMachine>> = /* @__PURE__ */ admissionOf<
  OpenStackMachine,
  OpenStackAdmissionRequest<OpenStackMachine>
>('admitOpenStackMachine', OpenStackMachine, {
  errors: ({ spec }, before) => {
    const isSame = before === undefined || isSameBut(before.spec, spec, MUTABLE_OF_MACHINES, PAIRS)
    return [isSame ? [] : [forbiddenField('spec', 'cannot be modified')], referenceErrors('spec', spec)]
  },
})

const MUTABLE_OF_MACHINES = ['providerID', 'instanceID', 'identityRef']

/**
 * Whether a template is admitted, as far as the subset goes: its pool reference names a group, and
 * of `spec.template.spec` only `ports[].allowedAddressPairs` changes
 * (pkg/webhooks/openstackmachinetemplate_webhook.go).
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation or another `fieldValidation`
 */
export function admitOpenStackMachineTemplate(
  request: OpenStackAdmissionRequest<OpenStackMachineTemplate>,
  options: ImmutabilityOptions = {},
): Admission {
  return admitBy('admitOpenStackMachineTemplate', OpenStackMachineTemplate, templateRules, request, options)
}

const templateRules: AdmissionRules<
  OpenStackMachineTemplate,
  OpenStackAdmissionRequest<OpenStackMachineTemplate>,
  ImmutabilityOptions
> = {
  options: IMMUTABILITY as Kind,
  errors: (template, before, _, options) => {
    if (before !== undefined && isTopologyDryRun(template, options)) return []
    const path = 'spec.template.spec'
    const { spec } = template.spec.template
    const isSame = before === undefined || isSameBut(before.spec.template.spec, spec, [], PAIRS)
    return [isSame ? [] : [invalidField(path, { ...spec }, TEMPLATE_IS_IMMUTABLE)], referenceErrors(path, spec)]
  },
}

const TEMPLATE_IS_IMMUTABLE =
  'OpenStackMachineTemplate spec.template.spec field is immutable. Please create a new resource instead. Ref doc: https://cluster-api.sigs.k8s.io/tasks/change-machine-template.html'

/** Annotation of the topology controller on objects that it creates or changes in a dry run. */
const TOPOLOGY_DRY_RUN_ANNOTATION = 'topology.cluster.x-k8s.io/dry-run'

function isTopologyDryRun(object: KubeObject, { isDryRun = false }: ImmutabilityOptions): boolean {
  return isDryRun && labelOf(object.metadata.annotations, TOPOLOGY_DRY_RUN_ANNOTATION) !== undefined
}

/** Without a group no claim can be made, and upstream's controller ends. */
function referenceErrors(path: string, { floatingIPPoolRef: pool }: FloatingIPSpec): readonly FieldError[] {
  if (pool === undefined || pool.apiGroup) return []
  return [{ type: 'Required', path: `${path}.floatingIPPoolRef.apiGroup`, value: null, detail: NO_GROUP }]
}

const NO_GROUP = 'a claim names the API group of its pool'

/** The field of ports that can change. */
const PAIRS = 'allowedAddressPairs'

/** Whether two specs are the same but for these fields, and this one of their ports. */
function isSameBut(before: object, after: object, mutable: readonly string[], ofPorts?: string): boolean {
  const compared = (spec: object): JsonObject => {
    const { ports, ...rest } = without(spec as JsonObject, mutable)
    if (!Array.isArray(ports) || ofPorts === undefined) return { ...rest, ports }
    return { ...rest, ports: ports.map((port) => (asObject(port) ? without(port as JsonObject, [ofPorts]) : port)) }
  }
  return differences('spec', compared(before), compared(after)).length === 0
}

function without(object: JsonObject, fields: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !fields.includes(name)))
}
