import * as z from 'zod'

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

export const poolReferenceSchema: z.ZodType<IPPoolReference> = z.looseObject({
  apiGroup: z.string(),
  kind: z.string().min(1),
  name: z.string().min(1),
})

export const localReferenceSchema: z.ZodType<LocalReference> = z.looseObject({ name: z.string().min(1) })

/** Whether two references name the same pool. */
export function samePool(left: IPPoolReference, right: IPPoolReference): boolean {
  return left.apiGroup === right.apiGroup && left.kind === right.kind && left.name === right.name
}
