import {
  type KindInfo,
  type KubeObject,
  type LabelSelectorRequirement,
  labelOf,
  meetsRequirement,
} from '../crd/meta/object.js'

declare const trimmed: unique symbol

/**
 * The part of an object that a selection with `keep` keeps. A planner may patch or delete the
 * object. It must not create it again from this part, and the type of the effect,
 * {@link WholeObject}, prevents that.
 */
export interface TrimmedObject extends KubeObject {
  readonly [trimmed]: true
}

/** An object with all of its fields. */
export interface WholeObject extends KubeObject {
  readonly [trimmed]?: undefined
}

/**
 * The objects of a kind that a planner reads: all of them, or those of a namespace, with some
 * labels or fields. All given conditions must hold.
 */
export interface Selection extends KindInfo {
  readonly namespace?: string | undefined
  /** Labels that an object must have with exactly these values. */
  readonly labels?: { readonly [key: string]: string } | undefined
  readonly labelExpressions?: readonly LabelSelectorRequirement[] | undefined
  /**
   * Fields that an object must have with exactly these values: `metadata.name`,
   * `metadata.namespace`, and the `selectableFields` of the kind.
   */
  readonly fields?: { readonly [path: string]: string } | undefined
  /**
   * Returns the part of an object that is kept, so that a Pod of 6 kB takes a few hundred bytes. It
   * must be pure, and must keep `apiVersion`, `kind`, `metadata.name`, `metadata.namespace`,
   * `metadata.uid`, `metadata.resourceVersion` and every field that an effect of the planner is
   * conditioned on. Its watch is a {@link TrimmedWatch}.
   */
  readonly keep?: ((object: KubeObject) => KubeObject) | undefined
}

/**
 * Whether an object can leave the selection while it exists. Its namespace and name do not change.
 */
export function isSelective({ labels, labelExpressions, fields = {} }: Selection): boolean {
  const fixed = ['metadata.name', 'metadata.namespace']
  return (
    labels !== undefined || labelExpressions !== undefined || Object.keys(fields).some((path) => !fixed.includes(path))
  )
}

/** Whether an object of the kind is selected. A field that the object does not have is `''`. */
export function isSelected(selection: Selection, object: KubeObject): boolean {
  const { namespace, labels = {}, labelExpressions = [], fields = {} } = selection
  const has = object.metadata.labels
  return (
    (namespace === undefined || object.metadata.namespace === namespace) &&
    Object.entries(labels).every(([key, value]) => labelOf(has, key) === value) &&
    labelExpressions.every((requirement) => meetsRequirement(requirement, labelOf(has, requirement.key))) &&
    Object.entries(fields).every(([path, value]) => fieldText(object, path) === value)
  )
}

function fieldText(object: KubeObject, path: string): string {
  let value: unknown = object
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return ''
    value = (value as { readonly [key: string]: unknown })[name]
  }
  return value === undefined || value === null ? '' : String(value)
}
