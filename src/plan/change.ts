import type { KubeObject, ObjectRef } from '../crd/meta/object.js'

/** What became known of an object: as it is now, or that it is gone. */
export type Change =
  | { readonly kind: 'present'; readonly object: KubeObject }
  | {
      readonly kind: 'absent'
      readonly ref: ObjectRef
      /** Which object is not there, if that is known. Another one may have its name. */
      readonly uid?: string | undefined
      /**
       * The store has said so when it was asked for this object. Left out where a watch told of it
       * or a list had it no more: a watch may be late, a list old.
       */
      readonly confirmed?: true | undefined
    }
