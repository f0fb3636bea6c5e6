import { check, type KindOf } from '../../../errors/check.js'
import { refuse } from '../../../errors/refuse.js'

/** What a row of a pool says of its owner. */
export interface RowOwner {
  /** `namespace/name` of the Pod. */
  readonly podref: string
  /** The id of the container, or of the sandbox of a Pod. */
  readonly id: string
  /** The name of the interface in the container. Old rows have none. */
  readonly ifname?: string | undefined
}

/**
 * Which rows an interface has already.
 *
 * - `container`: those of its container. Another container of the same Pod gets another address:
 *   the Pod may be a new one of an old name, whose container still uses the old address
 * - `pod`: those of any container of its Pod, as for upstream. A Pod of a StatefulSet gets the
 *   address of the Pod before it, if the row is still there
 */
export type Stickiness = 'container' | 'pod'

const OWNER: KindOf<RowOwner> = ['open', { podref: 'text', id: 'text', ifname: 'text?' }]

/**
 * The rows that an ADD of this owner gets again, those of its container first. Neither the bounds
 * nor the excludes of a range count. O(rows).
 */
export function rowsToReuse<R extends RowOwner>(rows: Iterable<R>, owner: RowOwner, sticky: Stickiness): readonly R[] {
  check('rowsToReuse', 'rows', rows, 'iterable')
  check('rowsToReuse', 'owner', owner, OWNER)
  check('rowsToReuse', 'sticky', sticky, ['one', { container: 1, pod: 1 }])

  const own: R[] = []
  const earlier: R[] = []
  for (const row of rows) {
    assertRow('rowsToReuse', row)
    if (row.podref !== owner.podref || !isSameInterface(row, owner)) continue
    if (row.id === owner.id) own.push(row)
    else if (sticky === 'pod') earlier.push(row)
  }
  return [...own, ...earlier]
}

/**
 * The rows that a DEL frees: those of the container and its interface, of whichever Pod. A row
 * without the name of an interface is none of them. O(rows).
 */
export function rowsToRelease<R extends Omit<RowOwner, 'podref'>>(
  rows: Iterable<R>,
  owner: Omit<RowOwner, 'podref'>,
): readonly R[] {
  check('rowsToRelease', 'rows', rows, 'iterable')
  check('rowsToRelease', 'owner', owner, ['open', { id: 'text', ifname: 'text?' }])

  return [...rows].filter((row) => {
    assertRow('rowsToRelease', row)
    return row.id === owner.id && isSameInterface(row, owner)
  })
}

function assertRow(of: string, row: object): void {
  if (typeof row !== 'object' || row === null) refuse(of, 'rows[]', 'an object', row)
}

function isSameInterface(left: Pick<RowOwner, 'ifname'>, right: Pick<RowOwner, 'ifname'>): boolean {
  return (left.ifname || undefined) === (right.ifname || undefined)
}
