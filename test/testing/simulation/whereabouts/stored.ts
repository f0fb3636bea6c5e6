import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Change } from 'ipam-kit/plan'
import { CLAIM, POOL, RESERVATION } from './kinds.js'
import { addressAt } from './networks.js'

/** A row of a pool, as upstream writes it. */
export interface Row {
  readonly pool: string
  readonly key: string
  readonly address: string
  readonly id: string
  readonly podref: string
  readonly ifname: string
  /** All of its texts: one may name a claim. */
  readonly texts: readonly string[]
}

export interface Reservation {
  readonly name: string
  readonly podref: string
  /** Empty: upstream does not write it. */
  readonly containerId: string
}

/** What a change did to rows and reservations. */
export interface Changed {
  /** Rows that went, and those whose owner is another one by now. */
  readonly lost: readonly Row[]
  readonly gained: readonly Row[]
  /** A reservation that was deleted, or has another owner. */
  readonly lostReservation?: Reservation | undefined
}

/** What is stored, read without the library. */
export class Stored {
  readonly #pools = new Map<string, ReadonlyMap<string, Row>>()
  readonly reservations = new Map<string, Reservation>()
  readonly pods = new Map<string, KubeObject>()
  readonly claims = new Map<string, KubeObject>()

  observe(change: Change): Changed {
    const object = change.kind === 'present' ? change.object : undefined
    const { apiVersion, kind } = object ?? (change as Extract<Change, { kind: 'absent' }>).ref
    const name = object?.metadata.name ?? (change as Extract<Change, { kind: 'absent' }>).ref.name
    if (kind === POOL.kind && apiVersion === POOL.apiVersion) return this.#observePool(name, object)
    if (kind === RESERVATION.kind) return this.#observeReservation(name, object)
    if (kind === 'Pod') put(this.pods, name, object)
    if (kind === CLAIM.kind) put(this.claims, name, object)
    return { lost: [], gained: [] }
  }

  #observePool(name: string, object: KubeObject | undefined): Changed {
    const before = this.#pools.get(name) ?? new Map<string, Row>()
    const after = object === undefined ? new Map<string, Row>() : rowsOf(object)
    put(this.#pools, name, object && after)
    const isIn = (rows: ReadonlyMap<string, Row>, row: Row) => {
      const other = rows.get(row.key)
      return other?.id === row.id && other.ifname === row.ifname && other.podref === row.podref
    }
    return {
      lost: [...before.values()].filter((row) => !isIn(after, row)),
      gained: [...after.values()].filter((row) => !isIn(before, row)),
    }
  }

  #observeReservation(name: string, object: KubeObject | undefined): Changed {
    const before = this.reservations.get(name)
    const spec = object?.spec as { readonly podref: string; readonly containerid?: string } | undefined
    put(this.reservations, name, spec && { name, podref: spec.podref, containerId: spec.containerid ?? '' })
    const isLost = before !== undefined && before.podref !== spec?.podref
    return { lost: [], gained: [], ...(isLost && { lostReservation: before }) }
  }

  rows(pool: string): readonly Row[] {
    return [...(this.#pools.get(pool)?.values() ?? [])]
  }

  get allRows(): readonly Row[] {
    return [...this.#pools.values()].flatMap((rows) => [...rows.values()])
  }
}

function put<T>(map: Map<string, T>, name: string, value: T | undefined): void {
  if (value === undefined) map.delete(name)
  else map.set(name, value)
}

function rowsOf({ metadata, spec }: KubeObject): ReadonlyMap<string, Row> {
  const { range, allocations = {} } = spec as {
    readonly range: string
    readonly allocations?: { readonly [key: string]: Pick<Row, 'id' | 'podref'> & { readonly ifname?: string } }
  }
  return new Map(
    Object.entries(allocations).map(([key, row]) => {
      const { id, podref, ifname = '' } = row
      const texts = Object.values(row)
      return [key, { pool: metadata.name, key, address: addressAt(range, key), id, podref, ifname, texts }]
    }),
  )
}
