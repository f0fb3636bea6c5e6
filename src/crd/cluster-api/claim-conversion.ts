import {
  metadataEntry,
  takeConversionData,
  type VersionConversion,
  withConversionData,
  withMetadataEntry,
} from '../meta/conversion.js'
import { asObject, defined, type JsonObject, unlessEmpty, unlessEmptyList } from '../meta/json.js'
import { API_VERSION, CLUSTER_NAME_LABEL } from './names.js'
import { withHubPoolGroup, withOldPoolGroup, withSpec } from './spec-conversion.js'

// Conditions never translate between the two worlds. Each has its own place in each version:
//
//                     of Cluster API v1beta1                  of metav1
//     v1alpha1        status.conditions                       -
//     v1beta1         status.conditions                       status.v1beta2.conditions
//     v1beta2 (hub)   status.deprecated.v1beta1.conditions    status.conditions

/**
 * An IPAddressClaim of v1beta1, as Cluster API converts it (api/ipam/v1beta1/conversion.go).
 * Nothing is lost on either way.
 */
export const claimFromV1beta1: VersionConversion = {
  toHub: (claim) => ({ ok: true, value: toHub(claim) }),
  fromHub: (claim) => ({ ok: true, value: fromHub(claim) }),
}

/** Annotation that says that the label with the name of the Cluster is there for v1alpha1 alone. */
const LABEL_WAS_SET_ANNOTATION = 'conversion.cluster.x-k8s.io/cluster-name-label-set'

/**
 * An IPAddressClaim of v1alpha1, as Cluster API converts it
 * (core/webhooks/conversion/ipaddressclaim.go): the name of the Cluster is a label there, which
 * overrides what the field says on the way back; conditions of metav1 wait in an annotation. Unlike
 * upstream a claim that has the label and not the field does not gain the field on the way back: an
 * empty name waits in the annotation.
 */
export const claimFromV1alpha1: VersionConversion = {
  toHub: (claim) => {
    const taken = takeConversionData(claim, API_VERSION)
    if (!taken.ok) return taken
    const { data, rest } = taken.value
    const clusterName = metadataEntry(rest, 'labels', CLUSTER_NAME_LABEL)
    const isMarked = metadataEntry(rest, 'annotations', LABEL_WAS_SET_ANNOTATION) === 'false'
    const unmarked = withMetadataEntry(rest, 'annotations', LABEL_WAS_SET_ANNOTATION, undefined)
    const cleaned = isMarked ? withMetadataEntry(unmarked, 'labels', CLUSTER_NAME_LABEL, undefined) : unmarked
    const isLabelOnly = asObject(data.spec)?.clusterName === ''
    const hub = toHub(
      clusterName && !isLabelOnly ? withSpec(cleaned, { ...asObject(cleaned.spec), clusterName }) : cleaned,
    )
    const conditions = unlessEmptyList(asObject(data.status)?.conditions)
    return {
      ok: true,
      value: conditions === undefined ? hub : withStatus(hub, { ...asObject(hub.status), conditions }),
    }
  },
  fromHub: (claim) => {
    const { conditions, ...status } = asObject(claim.status) ?? {}
    const { clusterName, ...spec } = asObject(claim.spec) ?? {}
    const old = fromHub(withSpec(withStatus(claim, status), asObject(claim.spec) && spec))
    const kept = unlessEmptyList(conditions)
    const isNamed = typeof clusterName === 'string' && clusterName !== ''
    const labelled = isNamed ? withClusterLabel(old, clusterName) : old
    // the label is not to become the field on the way back: the spec never changes
    const isLabelOnly = !isNamed && Boolean(metadataEntry(old, 'labels', CLUSTER_NAME_LABEL))
    const data = defined({
      spec: isLabelOnly ? { clusterName: '' } : undefined,
      status: kept === undefined ? undefined : { conditions: kept },
    })
    return { ok: true, value: withConversionData(labelled, unlessEmpty(data)) }
  },
}

function withClusterLabel(claim: JsonObject, clusterName: string): JsonObject {
  const had = metadataEntry(claim, 'labels', CLUSTER_NAME_LABEL) !== undefined
  const marked = had ? claim : withMetadataEntry(claim, 'annotations', LABEL_WAS_SET_ANNOTATION, 'false')
  return withMetadataEntry(marked, 'labels', CLUSTER_NAME_LABEL, clusterName)
}

function toHub(claim: JsonObject): JsonObject {
  const { conditions: legacy, v1beta2, ...rest } = asObject(claim.status) ?? {}
  const { conditions: modern, ...unknown } = asObject(v1beta2) ?? {}
  const status = {
    ...rest,
    addressRef: isNamed(rest.addressRef) ? rest.addressRef : undefined,
    conditions: unlessEmptyList(modern),
    v1beta2: unlessEmpty(unknown),
    deprecated: withLegacy(rest.deprecated, unlessEmptyList(legacy)),
  }
  return withStatus(withSpec(claim, withHubPoolGroup(claim.spec)), status)
}

function fromHub(claim: JsonObject): JsonObject {
  const { conditions: modern, deprecated, ...rest } = asObject(claim.status) ?? {}
  const { v1beta1, ...unknown } = asObject(deprecated) ?? {}
  const { conditions: legacy, ...unknownLegacy } = asObject(v1beta1) ?? {}
  const conditions = unlessEmptyList(modern)
  const status = {
    ...rest,
    conditions: unlessEmptyList(legacy),
    v1beta2: conditions === undefined ? rest.v1beta2 : { ...asObject(rest.v1beta2), conditions },
    deprecated: unlessEmpty(defined({ ...unknown, v1beta1: unlessEmpty(unknownLegacy) })),
  }
  return withStatus(withSpec(claim, withOldPoolGroup(claim.spec)), status)
}

function withLegacy(deprecated: unknown, conditions: unknown): unknown {
  if (conditions === undefined) return deprecated
  const groups = asObject(deprecated)
  return { ...groups, v1beta1: { ...asObject(groups?.v1beta1), conditions } }
}

/** A reference without a name is none: Go writes `{}` for it. */
function isNamed(reference: unknown): boolean {
  const name = asObject(reference)?.name
  return name !== undefined && name !== null && name !== ''
}

/**
 * The object with those fields of a status that are there; without a status, if none is. v1beta2
 * takes no empty one.
 */
function withStatus(json: JsonObject, fields: JsonObject): JsonObject {
  const { status: _, ...rest } = json
  const status = unlessEmpty(defined(fields))
  return status === undefined ? rest : { ...rest, status }
}
