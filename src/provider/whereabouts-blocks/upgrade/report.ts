import type { Address } from '../../../cidr/nouns/address.js'
import type { RowOddity } from '../../../crd/whereabouts/index.js'

/**
 * What is unusual about a pool of whereabouts, one of its rows or a reservation. The kinds of
 * `RowOddity` are among them. An obstacle (yes) has to be removed before the upgrade of the pool.
 *
 * | kind | what it is | obstacle |
 * |---|---|---|
 * | `pool-unreadable` | the object is no IPPool | yes |
 * | `pool-terminating` | the pool is being deleted | yes |
 * | `pool-unnamed` | no network has the range of the pool | yes |
 * | `pool-sliced` | the pool is a slice of a Node | yes |
 * | `range` | `spec.range` is not a CIDR, or not the one that the name says | yes |
 * | `domains` | the networks of the pool keep its addresses unique in different ways | yes |
 * | `target` | no pool of blocks can have the range | yes |
 * | `overlap` | another range overlaps it, and an address is given in one of them only | yes |
 * | `key-unreadable` | the key says no address | no |
 * | `key-outside` | the address is outside of the range | yes |
 * | `key-spelling`, `key-large` | the key is not as upstream writes or reads it | no |
 * | `row-unreadable` | the row does not say what has the address | yes |
 * | `duplicate` | another row has the same address | yes |
 * | `claim` | an IPAMClaim, or another owner that is no Pod, holds the row | yes |
 * | `row-texts` | the row names no Pod or no container, or a text does not fit in a row of a block | yes |
 * | `no-pod` | the Pod does not exist. The sweep frees the row | no, but the row is not copied |
 * | `unreported` | the Pod does not report the address: an earlier Pod of the name may have it | no, but the row is not copied |
 * | `no-interface` | the row names no interface, and the Pod does not report one | no |
 * | `second-row` | the interface of the Pod has another row in the same pool | yes |
 * | `not-given` | no network gives the address (any more) | no |
 * | `ambiguous` | several pools of blocks can have the row, or none of several gives its address | yes |
 * | `no-reservation` | the row lacks its reservation | no |
 * | `reserved-for-other` | the reservation of the address names another Pod | yes |
 * | `reservation-alone` | an address of the range has a reservation and no row | yes |
 */
export interface UpgradeOddity {
  readonly kind:
    | RowOddity['kind']
    | 'pool-unreadable'
    | 'pool-terminating'
    | 'pool-unnamed'
    | 'pool-sliced'
    | 'domains'
    | 'target'
    | 'overlap'
    | 'claim'
    | 'row-texts'
    | 'no-pod'
    | 'unreported'
    | 'no-interface'
    | 'second-row'
    | 'not-given'
    | 'ambiguous'
    | 'no-reservation'
    | 'reserved-for-other'
    | 'reservation-alone'
  readonly isObstacle: boolean
  /** The key of the row. Left out: the oddity is not about a row. */
  readonly key?: string | undefined
  readonly address?: Address | undefined
  /** What is unusual, as one sentence. */
  readonly problem: string
}

/** A row of a pool of whereabouts, as the row of a block that has to name the same holder. */
export interface UpgradeRow {
  /** The key in the pool of whereabouts. */
  readonly key: string
  readonly address: Address
  /** The IPPool of ipam-kit.dev that the row belongs to. */
  readonly pool: string
  /** The Pod, as `namespace/name`. */
  readonly owner: string
  readonly uid: string
  /** Left out: it is not known. A DEL does not find such a row; it is freed with its Pod. */
  readonly interface?: string | undefined
  readonly container: string
}

/** What becomes of one pool of whereabouts. */
export interface UpgradePool {
  readonly namespace: string
  readonly name: string
  /** Whether the pool can be upgraded as it is: no oddity of it is an obstacle. */
  readonly isReady: boolean
  /** The IPDomain of its addresses. Empty: no network has the range. */
  readonly domain: string
  /** The IPPools of ipam-kit.dev, one for each pair of bounds that its networks have. */
  readonly targets: readonly string[]
  /** The rows that can be copied, in the order of their addresses. */
  readonly rows: readonly UpgradeRow[]
  readonly oddities: readonly UpgradeOddity[]
}

/** What `planUpgrade` finds. */
export interface UpgradePlan {
  /** In the order of their names. */
  readonly pools: readonly UpgradePool[]
  /** The reservations of addresses that are in no pool, by name. They are no obstacle. */
  readonly otherReservations: readonly string[]
}
