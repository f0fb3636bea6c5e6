import * as Address from '../../../cidr/nouns/address.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { MAX_ROW_TEXTS, PLAIN_PATTERN } from '../../../crd/ipam-kit/names.js'
import type { KubeObject } from '../../../crd/meta/object.js'
import { type PoolRow, type RowOddity, readPodref } from '../../../crd/whereabouts/index.js'
import { reportedByPod } from '../../whereabouts/sweep/watches.js'
import { readRowClaim } from '../../whereabouts/tasks/holder.js'
import type { RangePool } from '../config/range-pool.js'
import { givenBy } from '../tasks/places.js'
import { type OldPool, obstacle } from './old-pools.js'
import type { UpgradeOddity, UpgradePool, UpgradeRow } from './report.js'

/** The reservations of one network, by address. */
export type Reserved = ReadonlyMap<number | string, { readonly address: Address.Address; readonly podref: string }>

/** The other objects that say something about the rows of a pool. */
export interface PoolSurroundings {
  /** By `namespace/name`. */
  readonly pods: ReadonlyMap<string, KubeObject>
  /** Those of the network of the pool. */
  readonly reserved: Reserved
}

/** What becomes of one pool. O(rows x log rows). */
export function planOldPool(old: OldPool, surroundings: PoolSurroundings): UpgradePool {
  const { object, read, ranges } = old
  const oddities: UpgradeOddity[] = [...old.oddities]
  const rows: UpgradeRow[] = []
  for (const oddity of read?.oddities ?? []) oddities.push(ofRow(oddity))
  const targets = ranges.map((range) => ({ range, given: givenTo(range) }))
  for (const row of read?.rows ?? []) {
    const planned = targets.length === 0 ? undefined : planRow(row, targets, surroundings, oddities)
    if (planned !== undefined) rows.push(planned)
  }
  rows.sort((left, right) => Address.compare(left.address, right.address))
  oddities.push(...secondRows(rows), ...reservedAlone(old, surroundings.reserved))
  const { namespace = '', name } = object.metadata
  const isReady = !oddities.some(({ isObstacle }) => isObstacle)
  const domain = ranges[0]?.domain ?? ''
  return { namespace, name, isReady, domain, targets: ranges.map((range) => range.name), rows, oddities }
}

/** Of the oddities of rows these leave no doubt about what has the address. */
const HARMLESS: readonly RowOddity['kind'][] = ['key-unreadable', 'key-spelling', 'key-large']

/** What is unusual about a row, as an oddity of its pool. */
export function ofRow({ kind, key, address, problem }: RowOddity): UpgradeOddity {
  return { kind, isObstacle: !HARMLESS.includes(kind), key, address, problem }
}

interface Target {
  readonly range: RangePool
  readonly given: RangeSet.RangeSet
}

function givenTo(range: RangePool): RangeSet.RangeSet {
  return RangeSet.subtract(givenBy(range), range.statics)
}

function planRow(
  row: PoolRow,
  targets: readonly Target[],
  { pods, reserved }: PoolSurroundings,
  oddities: UpgradeOddity[],
): UpgradeRow | undefined {
  const { key, address, podref, id } = row
  const note = (kind: UpgradeOddity['kind'], problem: string, isObstacle = true) => {
    oddities.push({ kind, isObstacle, key, address, problem })
    return undefined
  }
  const claim = readRowClaim(row)
  if (claim !== undefined) return note('claim', claimProblem(claim))
  if (readPodref(podref) === undefined) return note('row-texts', 'the row names no Pod')
  noteReservation(row, targets, reserved, oddities)
  const pod = pods.get(podref)
  if (pod === undefined) return note('no-pod', `the Pod ${podref} does not exist`, false)
  const reports = reportedByPod(pod)?.filter((each) => isSame(each.address, address)) ?? []
  const report = reports.find(({ ifname }) => !row.ifname || ifname === '' || ifname === row.ifname)
  if (report === undefined)
    return note('unreported', `the Pod ${podref} does not report the address for the row`, false)
  const name = row.ifname || report.ifname
  if (name === '') note('no-interface', 'neither the row nor its Pod names the interface', false)
  const giving = targets.filter(({ given }) => RangeSet.contains(given, address))
  if (giving.length === 0) note('not-given', 'no network gives the address', false)
  if (targets.length > 1 && giving.length !== 1) {
    return note('ambiguous', `${giving.length} of ${targets.length} pools of blocks give the address`)
  }
  const { range } = giving[0] ?? (targets[0] as Target)
  const texts = { owner: podref, uid: uidOf(pod), interface: name, container: id }
  const problem = textProblem(texts)
  if (problem !== undefined) return note('row-texts', problem)
  const { interface: _, ...others } = texts
  return { key, address, pool: range.name, ...others, ...(name !== '' && { interface: name }) }
}

/** A row of a block belongs to a Pod. */
export function claimProblem({ kind, name, uid }: NonNullable<ReturnType<typeof readRowClaim>>): string {
  return `${kind || 'IPAMClaim'} ${name || uid} holds the row`
}

/** What a runtime passes as `K8S_POD_UID`: for a static Pod not the uid of its mirror. */
export function uidOf({ metadata }: KubeObject): string {
  return metadata.annotations?.['kubernetes.io/config.mirror'] ?? metadata.uid ?? ''
}

function isSame(left: Address.Address, right: Address.Address): boolean {
  return Address.equals(Address.unmap(left), Address.unmap(right))
}

const PLAIN = /* @__PURE__ */ new RegExp(PLAIN_PATTERN, 'u')

/** Why a row of a block cannot have these texts. */
export function textProblem(texts: { readonly [Field in 'owner' | 'uid' | 'interface' | 'container']: string }) {
  for (const field of ['owner', 'uid', 'interface', 'container'] as const) {
    const [text, most] = [texts[field], MAX_ROW_TEXTS[field]]
    if (field === 'interface' && text === '') continue
    if (text.length > most || !PLAIN.test(text) || text === '__proto__') {
      return `its ${field} is not 1 to ${most} printable ASCII characters without blanks, ", \\, <, > and &`
    }
  }
  return undefined
}

function noteReservation(
  { key, address, podref }: PoolRow,
  targets: readonly Target[],
  reserved: Reserved,
  oddities: UpgradeOddity[],
): void {
  const reservation = reserved.get(Address.key(Address.unmap(address)))
  if (reservation === undefined) {
    if (targets.every(({ range }) => range.isOwn)) return
    oddities.push({ kind: 'no-reservation', isObstacle: false, key, address, problem: 'the row has no reservation' })
  } else if (reservation.podref !== podref) {
    oddities.push(obstacle('reserved-for-other', `its reservation names ${reservation.podref}`, { key, address }))
  }
}

/** The row of a block is that of an interface of a Pod: there is one in each pool. */
function secondRows(rows: readonly UpgradeRow[]): readonly UpgradeOddity[] {
  const first = new Map<string, UpgradeRow>()
  return rows.flatMap((row) => {
    const holder = `${row.pool} ${row.uid} ${row.interface ?? ''}`
    const other = first.get(holder)
    if (other === undefined) {
      first.set(holder, row)
      return []
    }
    const { key, address } = row
    return [obstacle('second-row', `the interface has ${Address.format(other.address)} too`, { key, address })]
  })
}

/** An ADD of upstream can succeed with a reservation alone. */
function reservedAlone({ read, ranges }: OldPool, reserved: Reserved): readonly UpgradeOddity[] {
  if (read === undefined || ranges.length === 0) return []
  const known = new Set<number | string>()
  for (const { address } of [...read.rows, ...read.oddities]) {
    if (address !== undefined) known.add(Address.key(Address.unmap(address)))
  }
  const space = RangeSet.fromPrefixes(ranges.map(({ prefix }) => prefix))
  return [...reserved].flatMap(([key, { address, podref }]) =>
    known.has(key) || !RangeSet.contains(space, address)
      ? []
      : [obstacle('reservation-alone', `${podref} has a reservation and no row`, { address })],
  )
}
