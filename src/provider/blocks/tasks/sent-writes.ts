import type { Prefix } from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { parseBlockName } from '../../../crd/ipam-kit/block-name.js'
import type { Effect } from '../../../plan/index.js'
import type { TaskRefusal } from '../../../plan/task.js'
import { type BlockEntry, ParsedBlock } from '../block/parsed-block.js'
import type { BlockChoice } from './choice.js'
import type { PlacedRow, SentRow } from './known-blocks.js'
import type { AllocationOutcome } from './outcome.js'
import type { TaskView } from './task-view.js'

/** After this number of blocks in which the store refuses a row, no further block is tried. */
const MOST_REFUSED = 4
/** Reasons that may concern one block only. */
const OF_ONE_BLOCK: ReadonlySet<string> = new Set(['STORE_INVALID', 'STORE_OBJECT_TOO_LARGE'])

/** A write that was sent for a block. */
interface Sent {
  /** The version that it requires; `undefined`: the block is created. */
  readonly version: string | undefined
  /** The number of its row, if this task sent it. */
  readonly sequence?: number
  /** The kept rows that the new row replaced; left out: it changes an existing row. */
  readonly replaced?: readonly BlockEntry[]
  /**
   * Whether the task was shown the version that the write requires. Then no earlier write can
   * succeed after it.
   */
  readonly isFence?: boolean
}

/** The last write of a row. */
interface LastWrite {
  readonly effect: Effect
  readonly block: string
  /** The prefix of the block, if a row is added. */
  readonly prefix: Prefix | undefined
  /** Whether an earlier write to the block was in flight. */
  readonly wasUnconfirmed: boolean
}

/**
 * The writes to blocks for one owner, of a task and of those before it, and their results: rows
 * that were added, writes that may still happen, and blocks in which a write has failed.
 */
export class SentWrites {
  readonly #owner: Pick<SentRow, 'uid' | 'interface'>
  readonly #view: TaskView
  /** By block, the last one that may still happen. */
  readonly #sent = new Map<string, Sent>()
  /**
   * The rows that this task has added, by block and number, with the kept rows that they replaced.
   */
  readonly added = new Map<string, readonly BlockEntry[]>()
  #last: LastWrite | undefined
  /** The blocks in which another writer was faster. */
  contended: RangeSet.RangeSet = RangeSet.empty
  /**
   * The blocks in which the store takes no row: a webhook denies it, or the object is too large.
   */
  refusing: RangeSet.RangeSet = RangeSet.empty
  #refusals = 0
  /** The reason that the store gave last. */
  #refusal: { readonly family: 4 | 6; readonly outcome: AllocationOutcome } | undefined

  constructor(owner: Pick<SentRow, 'uid' | 'interface'>, view: TaskView) {
    this.#owner = owner
    this.#view = view
  }

  /** The kept rows that a row of this task has replaced; `undefined`: it has not added the row. */
  replacedBy({ parsed, entry }: PlacedRow): readonly BlockEntry[] | undefined {
    return this.added.get(`${parsed.name} ${entry.row.sequence}`)
  }

  /** The blocks with a write that may still happen. */
  blocks(): IterableIterator<string> {
    return this.#sent.keys()
  }

  /** The blocks of a domain that a write may still create. */
  creating(domain: string): readonly Prefix[] {
    return [...this.#sent].flatMap(([name, { version }]) => {
      const place = version === undefined ? parseBlockName(name) : undefined
      return place?.domain === domain ? [place.prefix] : []
    })
  }

  /** Called when a row is about to be added. */
  adds({ effect, block, prefix, version, sequence, replaced }: Extract<BlockChoice, { kind: 'write' }>): void {
    this.#note(effect, block, { prefix, version, sequence, isBound: true }, prefix)
    this.#sent.set(block, { version, sequence, replaced })
  }

  /** Called when a row is about to be changed, and gets this number. */
  changes(effect: Effect, { name, prefix, version }: ParsedBlock, sequence: number): void {
    this.#note(effect, name, { prefix, version, sequence, isBound: true })
    this.#sent.set(name, { version, sequence })
  }

  /** Called when a row is about to be removed. */
  removes(effect: Effect, { parsed: { name, prefix, version }, entry }: PlacedRow): void {
    // a late success of this write must not remove the row of the next owner
    this.#note(effect, name, { prefix, version, sequence: entry.row.sequence, isBound: false })
  }

  /** Called when a block that the task was shown is about to get a new version. */
  fences({ name, version }: ParsedBlock): void {
    this.#sent.set(name, { version, isFence: true })
  }

  /** An earlier task may have sent a write for a block. */
  suspects(name: string, version: string | undefined): void {
    this.#sent.set(name, { version })
  }

  /**
   * Reads the results of the writes.
   *
   * @returns a block with an unconfirmed write: while it has the version that the write requires,
   * the write may still happen
   */
  review(): ParsedBlock | undefined {
    const { known, common } = this.#view
    // writes for this owner by a task that has ended, whose results are unknown
    for (const { name, version } of known.unconfirmed(this.#owner.uid, { name: this.#owner.interface })) {
      if (!this.#sent.has(name)) this.suspects(name, version)
    }
    let unconfirmed: ParsedBlock | undefined
    for (const [name, { version, sequence, replaced, isFence }] of this.#sent) {
      const parsed = known.block(name)
      if (!(parsed instanceof ParsedBlock)) continue
      const isOwn = parsed.entries.some(({ row }) => row.sequence === sequence && row.uid === this.#owner.uid)
      if (isOwn) {
        if (replaced !== undefined) this.added.set(`${name} ${sequence}`, replaced)
      } else if (version !== undefined && parsed.version === version) {
        unconfirmed ??= parsed
        continue
      } else if (isFence === true) common.written.add(name)
      else this.contended = RangeSet.union(this.contended, RangeSet.fromPrefixes([parsed.prefix]))
      this.#sent.delete(name)
    }
    return unconfirmed
  }

  /** The store has refused a write. @returns whether another block may take the row */
  refused({ effect, code, message }: TaskRefusal): boolean {
    if (!this.forget(effect)) return false
    const prefix = this.#last?.prefix
    if (prefix === undefined || !OF_ONE_BLOCK.has(code) || ++this.#refusals > MOST_REFUSED) return false
    this.refusing = RangeSet.union(this.refusing, RangeSet.fromPrefixes([prefix]))
    this.#refusal = { family: prefix.address.family, outcome: { kind: 'denied', message } }
    return true
  }

  /**
   * Why a family gets nothing: where the store refused blocks and no other block has free units,
   * that is the reason.
   */
  reasonOf(outcome: AllocationOutcome, family: 4 | 6 | undefined): AllocationOutcome {
    const isOf = outcome.kind === 'denied' || outcome.kind === 'exhausted'
    return isOf && this.#refusal?.family === family ? (this.#refusal?.outcome ?? outcome) : outcome
  }

  /**
   * The last write did not happen, and cannot happen later.
   *
   * @returns false: an earlier write to that block may still be in flight
   */
  forget(effect: Effect): boolean {
    const last = this.#last
    // the result of an earlier write for the same version is still unknown
    if (last?.effect !== effect || last.wasUnconfirmed) return false
    this.#sent.delete(last.block)
    for (const known of this.#view.both) known.noteRefused(last.block, this.#owner)
    return true
  }

  #note(effect: Effect, block: string, row: Omit<SentRow, 'uid' | 'interface'>, prefix?: Prefix): void {
    this.#last = { effect, block, prefix, wasUnconfirmed: this.#sent.has(block) }
    for (const known of this.#view.both) known.noteSent(block, { ...row, ...this.#owner }, this.#view)
  }
}
