import { type ObjectRef, refOf } from '../../crd/meta/object.js'
import type { Effect } from '../../plan/index.js'

/** The object that an effect is about. */
export function refOfEffect(effect: Effect): ObjectRef {
  switch (effect.kind) {
    case 'create':
      return refOf(effect.object)
    case 'event':
      return effect.about
    case 'external':
      return effect.call.about
    case 'patch':
    case 'delete':
    case 'absent':
      return effect.ref
  }
}
