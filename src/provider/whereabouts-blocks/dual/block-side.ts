import * as Address from '../../../cidr/nouns/address.js'
import type { ObjectRef } from '../../../crd/meta/object.js'
import type { Change, Step, Task, TaskTime } from '../../../plan/index.js'
import type { TaskQuery, TaskRefusal } from '../../../plan/task.js'
import { addressOf } from '../../blocks/block/allocation.js'
import { isBound, isPlaced } from '../../blocks/block/parsed-block.js'
import { KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import { blockRef, listStep, poolRef } from '../../blocks/tasks/steps.js'
import type { Stickiness } from '../../whereabouts/choose/owner.js'
import type { AddOptions } from '../../whereabouts/tasks/add.js'
import type { Assignment } from '../../whereabouts/tasks/assignment.js'
import type { TaskObjects } from '../../whereabouts/tasks/objects.js'
import type { OtherSide, SideStep } from '../../whereabouts/tasks/other-side.js'
import type { AddOutcome } from '../../whereabouts/tasks/outcome.js'
import { type InterfaceRequest, ownerOf } from '../../whereabouts/tasks/request.js'
import { type RangePool, rangePoolsOf } from '../config/range-pool.js'
import { configProblem } from '../tasks/add.js'
import { blockDel } from '../tasks/del.js'
import { podRef } from '../tasks/network-task.js'
import { differenceAt, placeOf, type RowPlace, targetProblem } from '../upgrade/compare.js'
import { copyEffects } from '../upgrade/copy-effects.js'
import { textProblem, uidOf } from '../upgrade/plan-pool.js'
import type { UpgradeRow } from '../upgrade/report.js'

/** With more readings of a pool whose phase changes than this, the ADD ends. */
const MOST_READINGS = 20

/** The rows of an ADD in blocks, for those of its pools that have a phase. */
export class BlockSide implements OtherSide {
  readonly taken: Address.Address[] = []
  readonly own: Address.Address[] = []
  readonly #request: InterfaceRequest
  readonly #sticky: Stickiness
  readonly #ranges: readonly RangePool[]
  readonly #known = new KnownBlocks()
  readonly #listed = new Set<string>()
  /** The pools of blocks in which this ADD may have written. */
  readonly #written = new Set<string>()
  /** The pools of whereabouts that had a phase: a finished upgrade deletes them. */
  readonly #upgraded = new Set<string>()
  #undo: Task | undefined
  /** Whether the pools were read after the blocks had the rows. */
  #isConfirmed = false
  #readings = 0
  #nowMs = 0
  #since = 0

  constructor(request: InterfaceRequest, { sticky = 'container' }: AddOptions) {
    this.#request = request
    this.#sticky = sticky
    this.#ranges = rangePoolsOf(request.config)
  }

  observe(change: Change): void {
    this.#known.observe(change, { nowMs: this.#nowMs, since: this.#since })
    this.#undo?.observe(change)
  }

  listed(query: TaskQuery): void {
    if (this.#undo !== undefined) this.#undo.listed?.(query)
    else this.#listed.add(query.fields['spec.domain'] ?? '')
  }

  refused(refusal: TaskRefusal): boolean {
    return this.#undo?.refused?.(refusal) === true
  }

  review(assignments: readonly Assignment[], objects: TaskObjects, time: TaskTime): SideStep | 'again' | undefined {
    this.#nowMs = time.nowMs
    this.#since = this.#known.clock
    const { containerId } = this.#request
    // rows that are written from now on are not confirmed
    if (assignments.some(({ row }) => row?.id !== containerId)) this.#isConfirmed = false
    const gone = assignments.find(({ pool }) => this.#upgraded.has(pool.name) && objects.pool(pool).kind === 'absent')
    if (gone !== undefined)
      return failed('poolNotReady', `IPPool ${gone.pool.name} was deleted: its range is on blocks`)
    const rows = this.#rows(assignments, objects)
    if ('step' in rows || 'outcome' in rows) return rows
    const fresh = assignments.filter(({ row }) => row?.id !== containerId)
    const added = rows.filter(({ address }) => fresh.some((one) => Address.equals(one.address, address)))
    const places = this.#places(rows, added.length > 0)
    if ('step' in places || 'outcome' in places) return places
    const own = added.map((row) => this.#follow(row, assignments, objects)).find((one) => one !== undefined)
    if (own !== undefined) return own
    for (const place of places) {
      const difference = differenceAt(place)
      if (difference === 'other') this.#noteTaken(place)
      if (difference !== 'missing' || this.#sticky === 'pod') continue
      const { address } = place.row
      const of = fresh.find((one) => one.row !== undefined && Address.equals(one.address, address))
      // only the row of a block says that a container of the pool is one of the same Pod
      if (of !== undefined && this.#phase(of, objects) !== 'blocks') this.taken.push(address)
    }
    return undefined
  }

  write(assignments: readonly Assignment[], objects: TaskObjects, time: TaskTime): SideStep | undefined {
    const rows = this.#rows(assignments, objects)
    if ('step' in rows || 'outcome' in rows) return rows
    if (rows.length === 0 && this.#written.size === 0) return undefined
    const left = [...this.#written].filter((pool) => !rows.some((row) => row.pool === pool))
    const undo = left.length === 0 ? undefined : this.#release(left, time)
    if (undo !== undefined) return { step: undo }
    const places = this.#places(rows)
    if ('step' in places || 'outcome' in places) return places
    const missing = places.filter((place) => differenceAt(place) !== undefined)
    if (missing.length > 0) {
      this.#isConfirmed = false
      for (const { pool } of rows) this.#written.add(pool)
      const outcome = { kind: 'writes', message: `rows of ${ownerOf(this.#request).podref} in blocks` }
      return { step: { kind: 'write', plan: { outcome, effects: copyEffects(missing, time.nowMs) } } }
    }
    return this.#confirm(assignments, objects)
  }

  undo(time: TaskTime): Step<never> | undefined {
    return this.#written.size === 0 ? undefined : this.#release([...this.#written], time)
  }

  /**
   * A phase may have changed before the blocks had the row, and with it the side that is the truth:
   * the row of the pool counts only if it is there afterwards.
   */
  #confirm(assignments: readonly Assignment[], objects: TaskObjects): SideStep | undefined {
    if (this.#isConfirmed) return undefined
    if (++this.#readings > MOST_READINGS) return failed('contended', 'the phases of the pools change too fast')
    const pools = assignments.map(({ pool }) => pool)
    for (const pool of pools) objects.forget(pool)
    this.#isConfirmed = true
    return { step: objects.read(pools, 'whether the pool still has the row') as Step<never> }
  }

  /** The rows of blocks that belong to the rows in pools with a phase. */
  #rows(assignments: readonly Assignment[], objects: TaskObjects): SideStep | readonly UpgradeRow[] {
    const upgraded = assignments.filter((one) => this.#phase(one, objects) !== undefined)
    if (upgraded.length === 0) return []
    for (const { pool } of upgraded) this.#upgraded.add(pool.name)
    const problem = this.#problem()
    if (problem !== undefined) return failed('refused', problem)
    const uid = this.#uid(objects)
    if (typeof uid !== 'string') return uid
    const { podref: owner, id: container, ifname = '' } = ownerOf(this.#request)
    const texts = { owner, uid, interface: ifname, container }
    const textual = textProblem(texts)
    if (textual !== undefined) return failed('refused', `the row of a block cannot name ${owner}: ${textual}`)
    const { ranges } = this.#request.config
    return upgraded.map(({ key, address, place: { range } }) => {
      const { name: pool } = this.#ranges[ranges.indexOf(range)] as RangePool
      return { key, address, pool, ...texts }
    })
  }

  #phase({ pool }: Assignment, objects: TaskObjects) {
    const reading = objects.pool(pool)
    return reading.kind === 'pool' ? reading.phase : undefined
  }

  #problem(): string | undefined {
    const { config } = this.#request
    if (config.nodeSliceSize !== undefined) return 'node slices cannot be upgraded to blocks'
    const places = this.#ranges.map((range) => ({ pool: range.name, range }))
    return configProblem({ ...this.#request, network: { config, pools: [] } }, places)
  }

  #uid(objects: TaskObjects): SideStep | string {
    const { podUid } = this.#request
    if (podUid) return podUid
    const ref = podRef(this.#request)
    const step = objects.read([ref], 'the uid of the Pod')
    if (step !== undefined) return { step }
    const pod = objects.get(ref)
    return pod ? uidOf(pod) : failed('noPod', `there is no Pod ${ref.namespace}/${ref.name}`)
  }

  /** An interface has one row in the blocks: a pool without a row of it gets the same address. */
  #follow(
    { uid, interface: ifname, pool, address }: UpgradeRow,
    assignments: readonly Assignment[],
    objects: TaskObjects,
  ): SideStep | 'again' | undefined {
    const own = this.#known
      .rowsOf(uid)
      .filter(
        ({ parsed, entry: { row } }) => row.interface === ifname && (row.pool ?? parsed.object.spec.pool) === pool,
      )
      .map(({ parsed, entry }) => addressOf(parsed, entry))
    if (own.some((one) => Address.equals(one, address))) return undefined
    const unknown = own.filter((one) => !this.own.some((other) => Address.equals(one, other)))
    this.own.push(...unknown)
    if (unknown.length > 0) return 'again'
    const [first] = own
    const of = assignments.find((one) => Address.equals(one.address, address))
    if (first === undefined || of === undefined || this.#phase(of, objects) !== 'blocks') return undefined
    return failed('taken', `the interface has ${Address.format(first)} in the blocks, which the pool does not give`)
  }

  /** Where the rows are in blocks, all of which are read. With `all`, all blocks of the domains. */
  #places(rows: readonly UpgradeRow[], all = false): SideStep | readonly RowPlace[] {
    const read = this.#read(
      rows.filter(({ pool }) => this.#known.pool(pool) === undefined).map(({ pool }) => poolRef(pool)),
    )
    if (read !== undefined) return read
    const places: RowPlace[] = []
    for (const row of rows) {
      const { domain } = this.#ranges.find(({ name }) => name === row.pool) as RangePool
      const problem = targetProblem(row.pool, { domain }, this.#known)
      const place = problem ?? placeOf(row, { domain }, this.#known)
      if (typeof place === 'string') return failed('poolNotReady', place)
      places.push(place)
    }
    // most blocks have the same rows as the pool. If one has others, so may the next ones
    const unread = places.filter(
      ({ name, domain }) => (all || this.#known.block(name) === undefined) && !this.#listed.has(domain),
    )
    const [first] = unread
    if (first === undefined) return places
    const why = 'whether the address is free there'
    if (all || this.taken.length > 0) return { step: listStep({ 'spec.domain': first.domain }, why) as Step<never> }
    return this.#read(
      unread.map(({ name }) => blockRef(name)),
      why,
    ) as SideStep
  }

  #read(refs: readonly ObjectRef[], why = 'the pools of the blocks'): SideStep | undefined {
    return refs.length === 0 ? undefined : { step: { kind: 'get', refs, why } }
  }

  /** Other holders have addresses of the blocks that are known. */
  #noteTaken({ row, domain }: RowPlace): void {
    this.taken.push(row.address)
    for (const parsed of this.#known.blocks()) {
      if (parsed.object.spec.domain !== domain) continue
      for (const entry of parsed.entries) {
        const isOwn = entry.row.uid === row.uid && entry.row.interface === row.interface
        if (isBound(entry) && isPlaced(entry) && !isOwn) this.taken.push(addressOf(parsed, entry))
      }
    }
  }

  /** Releases the rows of the container in some pools of blocks. */
  #release(pools: readonly string[], time: TaskTime): Step<never> | undefined {
    const { config } = this.#request
    this.#undo ??= blockDel({ ...this.#request, network: { config, pools } })
    const step = this.#undo.next(time)
    if (step.kind !== 'done') return step
    this.#undo = undefined
    this.#isConfirmed = false
    for (const pool of pools) this.#written.delete(pool)
    return undefined
  }
}

function failed(kind: Exclude<AddOutcome['kind'], 'allocated' | 'denied'>, message: string) {
  return { outcome: { kind, message } }
}
