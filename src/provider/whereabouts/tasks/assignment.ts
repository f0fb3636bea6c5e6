import type { Address } from '../../../cidr/nouns/address.js'
import type { ObjectRef } from '../../../crd/meta/object.js'
import type { PoolRow } from '../../../crd/whereabouts/index.js'
import type { Place } from './places.js'

/** The address of an interface in one range. */
export interface Assignment {
  readonly place: Place
  readonly pool: ObjectRef
  readonly address: Address
  /** The key of its row. */
  readonly key: string
  /** The row that is there. Left out: it has to be written. */
  readonly row?: PoolRow | undefined
  readonly gateway?: Address | undefined
}
