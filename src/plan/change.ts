import type { KubeObject, ObjectRef } from '../crd/meta/object.js'

/** The state of an object that was read, written or watched: present, or absent. */
export type Change =
  | { readonly kind: 'present'; readonly object: KubeObject }
  | {
      readonly kind: 'absent'
      readonly ref: ObjectRef
      /** The uid of the absent object, if it is known. Another object may have its name. */
      readonly uid?: string | undefined
      /**
       * Whether the store has answered a read of this object with its absence. Left out if a watch
       * or a list shows the absence: a watch may be late, a list old.
       */
      readonly confirmed?: true | undefined
    }
