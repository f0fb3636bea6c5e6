import type { Step, TaskTime } from '../../plan/index.js'
import { blockRef, type KnownBlocks, type SentRow } from './known-blocks.js'

/** For which versions of which blocks a task has waited. */
export class Turns {
  readonly #waitedFor = new Set<string>()

  /** To be done before a version of a block is written: nothing, or to wait, once, for another task of this process that writes it. */
  before(
    name: string,
    sent: Pick<SentRow, 'version' | 'uid' | 'interface'>,
    known: KnownBlocks,
    time: TaskTime,
  ): Extract<Step, { kind: 'turn' }> | undefined {
    const place = `${name} ${sent.version}`
    if (time.takesTurns !== true || this.#waitedFor.has(place) || !known.isUnderWay(name, sent, time)) return undefined
    this.#waitedFor.add(place)
    return { kind: 'turn', ref: blockRef(name), why: 'a task writes it' }
  }
}
