import * as z from 'zod'
import { asObject, type JsonObject } from '../meta/json.js'
import { defineModel, type Model } from '../meta/model.js'
import { groupOf, type KubeObject } from '../meta/object.js'
import { type Condition, conditionSchema, objectSchema } from '../meta/schema.js'

/**
 * A Machine, as far as IPAM reads it: whose it is, what carries it out, and which addresses it has
 * (cluster.x-k8s.io/v1beta2).
 */
export interface Machine extends KubeObject {
  readonly spec: MachineSpec
  readonly status?: MachineStatus | undefined
}

export interface MachineSpec {
  readonly clusterName: string
  /**
   * The machine of the infrastructure, in the same namespace: the owner of claims is often this
   * one.
   */
  readonly infrastructureRef?: InfrastructureReference | undefined
  readonly providerID?: string | undefined
  readonly failureDomain?: string | undefined
}

/** Names an object by its group, in whatever version of it. */
export interface InfrastructureReference {
  readonly apiGroup: string
  readonly kind: string
  readonly name: string
}

export interface MachineStatus {
  readonly phase?: string | undefined
  readonly addresses?: readonly MachineAddress[] | undefined
  readonly nodeRef?: { readonly name: string } | undefined
  readonly conditions?: readonly Condition[] | undefined
}

export interface MachineAddress {
  /** `Hostname`, `ExternalIP`, `InternalIP`, `ExternalDNS` or `InternalDNS`. */
  readonly type: string
  readonly address: string
}

const schema: z.ZodType<Machine> = objectSchema({
  spec: z.looseObject({
    clusterName: z.string().min(1),
    infrastructureRef: z.looseObject({ apiGroup: z.string(), kind: z.string(), name: z.string() }).optional(),
    providerID: z.string().optional(),
    failureDomain: z.string().optional(),
  }),
  status: z
    .looseObject({
      phase: z.string().optional(),
      addresses: z.array(z.looseObject({ type: z.string(), address: z.string() })).optional(),
      nodeRef: z.looseObject({ name: z.string() }).optional(),
      conditions: z.array(conditionSchema).optional(),
    })
    .optional(),
})

/**
 * Reads v1beta2, and v1beta1: a reference names a group there by a version of it, and conditions
 * are of an older kind.
 */
export const Machine: Model<Machine> = defineModel({
  info: {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Machine',
    plural: 'machines',
    namespaced: true,
    statusSubresource: true,
  },
  schema,
  converts: { 'cluster.x-k8s.io/v1beta1': (json) => ({ ok: true, value: fromV1beta1(json) }) },
})

function fromV1beta1(json: JsonObject): JsonObject {
  const [spec, status] = [asObject(json.spec), asObject(json.status)]
  const infrastructure = asObject(spec?.infrastructureRef)
  const nodeRef = asObject(status?.nodeRef)
  return {
    ...json,
    ...(spec === undefined || infrastructure === undefined
      ? {}
      : { spec: { ...spec, infrastructureRef: referenceFromV1beta1(infrastructure) } }),
    ...(status === undefined
      ? {}
      : {
          status: {
            ...statusFromV1beta1(status),
            ...(nodeRef === undefined ? {} : { nodeRef: { name: nodeRef.name } }),
          },
        }),
  }
}

function referenceFromV1beta1({ apiVersion, kind, name }: JsonObject): JsonObject {
  return { apiGroup: typeof apiVersion === 'string' ? groupOf(apiVersion) : apiVersion, kind, name }
}

/**
 * The conditions of v1beta1 wait under `deprecated`, and those of v1beta2 come from where v1beta1
 * keeps them: as in Cluster API.
 */
function statusFromV1beta1({ conditions, v1beta2, deprecated, ...status }: JsonObject): JsonObject {
  const current = asObject(v1beta2)?.conditions
  return {
    ...status,
    ...(conditions === undefined ? {} : { deprecated: { ...asObject(deprecated), v1beta1: { conditions } } }),
    ...(current === undefined ? {} : { conditions: current }),
  }
}
