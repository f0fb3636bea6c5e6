/**
 * Which pool a claim draws from. The pool is in the namespace of the claim, or cluster-scoped: its
 * kind decides.
 *
 * `apiGroup` is a group without a version. It may be empty on objects that were written as v1beta1
 * without a group; no provider serves those.
 */
export interface IPPoolReference {
  readonly apiGroup: string
  readonly kind: string
  readonly name: string
}

/** Names an object in the same namespace. */
export interface LocalReference {
  readonly name: string
}

/** Whether two references name the same pool. */
export function samePool(left: IPPoolReference, right: IPPoolReference): boolean {
  return left.apiGroup === right.apiGroup && left.kind === right.kind && left.name === right.name
}
