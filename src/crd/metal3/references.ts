/** Names an object, as `corev1.ObjectReference`. metal3 finds pools by name and namespace alone. */
export interface ObjectReference {
  readonly kind?: string | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly uid?: string | undefined
  readonly apiVersion?: string | undefined
  readonly resourceVersion?: string | undefined
  readonly fieldPath?: string | undefined
}

/** A reference as Go writes it: the fields in their order, without those that are empty. */
export function shownReference(reference: ObjectReference): { readonly [field: string]: string } {
  const { kind, namespace, name, uid, apiVersion, resourceVersion, fieldPath } = reference
  const fields = Object.entries({ kind, namespace, name, uid, apiVersion, resourceVersion, fieldPath })
  return Object.fromEntries(fields.flatMap(([field, value]) => (value ? [[field, value]] : [])))
}
