import { parseBlockName } from '../../../crd/ipam-kit/block-name.js'
import { IPBlock, type IPBlockRow } from '../../../crd/ipam-kit/ip-block.js'
import type { ObjectRef } from '../../../crd/meta/object.js'
import type { CallGroup } from '../../../plan/call-tasks.js'
import type { MergePatchEffect } from '../../../plan/effect.js'
import type {
  Change,
  Effect,
  ExternalCall,
  ExternalResult,
  Outcome,
  PlanTime,
  Step,
  TaskTime,
} from '../../../plan/index.js'
import type { TaskQuery, TaskRefusal } from '../../../plan/task.js'
import { ParsedBlock } from '../block/parsed-block.js'
import { allocateBeside, type GroupedTask, type SharedWrite } from './allocate.js'
import type { BlockCall, BlockOutcome } from './calls.js'
import type { KnownBlocks } from './known-blocks.js'
import type { TaskRequest } from './request.js'

type AllocateCall = ExternalCall<Extract<BlockCall, { readonly task: 'allocate' }>>

/** A call that waits for its row. */
interface Seat {
  readonly call: AllocateCall
  readonly task: GroupedTask
  answer: ExternalResult<BlockOutcome> | undefined
  /** What it has added to the last write. */
  sent: Effect | undefined
}

/** The rows that several tasks write to one block. */
interface BlockWrite {
  /** The stored block; `undefined`: it does not exist yet. */
  readonly stored: ParsedBlock | undefined
  /** The effects of the tasks, one after the other. */
  readonly effects: [Effect, ...Effect[]]
  /** The block after them; `undefined`: the first one is not a block that can be read. */
  after: ParsedBlock | undefined
}

export interface AllocateGroupOptions {
  /** The known blocks: after a reset of the planner it is another object. */
  readonly known: () => KnownBlocks
  readonly requestOf: (call: AllocateCall) => TaskRequest
  readonly answerOf: (call: AllocateCall, outcome: BlockOutcome, time: PlanTime) => ExternalResult<BlockOutcome>
}

/**
 * Gives addresses for several calls at a time: rows of one block go into one write.
 *
 * Each call has its own `allocate` task, which decides. While a task chooses, it sees the rows that
 * the tasks before it are about to write, and prefers their block. Apart from that, the tasks are
 * independent: each learns the result of the write from the block. A step is O(calls * rows of a
 * block).
 */
export class AllocateGroup implements CallGroup<BlockCall, BlockOutcome> {
  readonly #options: AllocateGroupOptions
  readonly #seats = new Set<Seat>()
  readonly #shared: SharedWrite = { prefix: undefined }
  #leader: Seat | undefined
  /** The plan that was sent last. */
  #effects: readonly Effect[] = []

  constructor(options: AllocateGroupOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#seats.size
  }

  join(call: AllocateCall): Seat {
    const { known, requestOf } = this.#options
    const task = allocateBeside(requestOf(call), known(), this.#shared)
    const seat = { call, task, answer: undefined, sent: undefined }
    this.#seats.add(seat)
    return seat
  }

  lead(seat: Seat): void {
    this.#leader = seat
  }

  leave(seat: Seat): void {
    this.#seats.delete(seat)
  }

  observe(change: Change): void {
    for (const { task } of this.#waiting()) task.observe(change)
  }

  listed(query: TaskQuery): void {
    for (const { task } of this.#waiting()) task.listed?.(query)
  }

  refused({ effect, code, message }: TaskRefusal): boolean {
    const block = blockOf(effect)
    const unsent = new Set(this.#effects.slice(this.#effects.indexOf(effect) + 1).map(blockOf))
    let isOfSeat = false
    for (const seat of this.#waiting()) {
      const { sent } = seat
      if (sent === undefined) continue
      if (unsent.has(blockOf(sent))) seat.task.notSent(sent)
      if (blockOf(sent) !== block) continue
      isOfSeat = true
      if (seat.task.refused?.({ effect: sent, code, message }) === true) continue
      // the failure does not concern the other tasks
      const failure = { message: `could not write what it is to have: ${message}`, retryable: true }
      seat.answer = { ok: false, failure }
    }
    return isOfSeat && this.#leader?.answer === undefined
  }

  next(time: TaskTime): Step<Outcome> {
    const undo: (() => void)[] = []
    try {
      return this.#next(time, undo)
    } finally {
      for (const back of undo.reverse()) back()
    }
  }

  /**
   * @param undo functions that remove what the tasks see of the writes of others, in the order of
   * the writes
   */
  #next(time: TaskTime, undo: (() => void)[]): Step<Outcome> {
    const writes = new Map<string, BlockWrite>()
    const refs: ObjectRef[] = []
    let other: Step<Outcome> | undefined
    this.#shared.prefix = undefined
    for (const seat of this.#waiting()) {
      seat.sent = undefined
      const step = seat.task.next(time)
      if (step.kind === 'done') {
        seat.answer = this.#options.answerOf(seat.call, step.outcome, time)
        if (seat === this.#leader) return ANSWERED
      } else if (step.kind === 'get') refs.push(...step.refs)
      else if (step.kind === 'write') {
        const [effect] = step.plan.effects as [Effect]
        seat.sent = effect
        undo.push(this.#add(effect, writes))
        this.#share(effect, seat)
      } else other ??= step
    }
    if (writes.size > 0) {
      this.#effects = [...writes.values()].map(combined)
      const outcome = { kind: 'writes', message: `rows for ${this.#count()} claims` }
      return { kind: 'write', plan: { outcome, effects: this.#effects } }
    }
    if (refs.length > 0) return { kind: 'get', refs: distinct(refs), why: 'what calls have to know' }
    return other ?? ANSWERED
  }

  /** The leader first: when it is done, the others wait for the next one. */
  *#waiting(): IterableIterator<Seat> {
    if (this.#leader !== undefined && this.#leader.answer === undefined) yield this.#leader
    for (const seat of this.#seats) if (seat !== this.#leader && seat.answer === undefined) yield seat
  }

  #count(): number {
    return [...this.#seats].filter(({ sent }) => sent !== undefined).length
  }

  /**
   * Makes the tasks after it prefer the block of a write. A block that is made for a requested
   * address may be refused, and serves no other task.
   */
  #share(effect: Effect, { call }: Seat): void {
    const block = blockOf(effect)
    if (block === undefined || (effect.kind === 'create' && call.input.request.addresses !== undefined)) return
    this.#shared.prefix ??= parseBlockName(block)?.prefix
  }

  /**
   * Adds the write of one task to the write of its block. @returns removes what the tasks after it
   * see of it
   */
  #add(effect: Effect, writes: Map<string, BlockWrite>): () => void {
    const name = blockOf(effect)
    const known = this.#options.known()
    if (name === undefined) return () => {}
    const before = known.block(name)
    const stored = before instanceof ParsedBlock ? before : undefined
    const write = writes.get(name)
    const after = resultOf(effect, write === undefined ? stored : write.after)
    if (write === undefined) writes.set(name, { stored, effects: [effect], after })
    else {
      write.after = after
      write.effects.push(effect)
    }
    return after === undefined ? () => {} : known.assume(after)
  }
}

const ANSWERED: Step<Outcome> = {
  kind: 'done',
  outcome: { kind: 'answered', message: 'the call that leads is answered' },
}

/** The name of the block that an effect writes. */
function blockOf(effect: Effect): string | undefined {
  if (effect.kind === 'create') return effect.object.metadata.name
  return effect.kind === 'patch' && IPBlock.is(effect.ref) ? effect.ref.name : undefined
}

type Rows = { readonly [unit: string]: IPBlockRow }
interface SpecPatch {
  readonly sequence?: number
  readonly last?: number
  readonly rows?: { readonly [unit: string]: { readonly [field: string]: unknown } | null }
}

/** A block after an effect. */
function resultOf(effect: Effect, before: ParsedBlock | undefined): ParsedBlock | undefined {
  if (effect.kind === 'create') {
    const created = ParsedBlock.parse(effect.object)
    return created.ok ? created.value : undefined
  }
  if (before === undefined) return undefined
  const { spec } = before.object
  const { rows = {}, ...fields } = (effect as MergePatchEffect).patch.spec as SpecPatch
  const after: { [unit: string]: IPBlockRow } = { ...spec.rows }
  for (const [unit, change] of Object.entries(rows)) {
    if (change === null) delete after[unit]
    else after[unit] = withoutNulls({ ...after[unit], ...change }) as unknown as IPBlockRow
  }
  return before.after({ ...spec, ...fields, rows: after })
}

/** One effect for all writes of a block: from the stored object to the final one. */
function combined({ stored, effects, after }: BlockWrite): Effect {
  const [first] = effects
  if (effects.length === 1 || after === undefined) return first
  const { object } = after
  if (stored === undefined || first.kind !== 'patch') return { ...first, object } as Effect
  const { sequence, last } = object.spec
  const patch = {
    spec: {
      sequence,
      ...(last === undefined ? {} : { last }),
      rows: changed(stored.object.spec.rows, object.spec.rows),
    },
  }
  const reasons = new Set(effects.map((effect) => ('why' in effect ? effect.why : '')))
  const why = [...reasons].filter((reason) => reason !== '').join('; ')
  return { ...(first as MergePatchEffect), patch, why }
}

/** The merge patch between two sets of rows. */
function changed(before: Rows, after: Rows): { readonly [unit: string]: unknown } {
  const patch: { [unit: string]: unknown } = {}
  for (const unit of Object.keys(before)) if (!Object.hasOwn(after, unit)) patch[unit] = null
  for (const [unit, row] of Object.entries(after)) {
    const was = before[unit]
    if (row === was) continue
    const gone = Object.keys(was ?? {}).filter((field) => !Object.hasOwn(row, field))
    patch[unit] = { ...Object.fromEntries(gone.map((field) => [field, null])), ...row }
  }
  return patch
}

function withoutNulls(object: object): object {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))
}

function distinct(refs: readonly ObjectRef[]): readonly ObjectRef[] {
  return [...new Map(refs.map((ref) => [`${ref.kind} ${ref.name}`, ref])).values()]
}
