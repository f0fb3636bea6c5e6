import type { Address } from '../../cidr/index.js'
import { next as nextOf } from '../../cidr/nouns/address.js'
import { createSlots } from '../slots/create-slots.js'
import type { Slots } from '../slots/slots.js'
import type { Space } from '../slots/space.js'
import type { Strategy } from '../strategy.js'
import { drawn, hashText, jump, STEP } from '../util/hashing.js'

/**
 * Finds the next slot of a space by a strategy, above the static band as long as there is one.
 *
 *     slots     |-- static band --|--------- given first ---------|
 */
export class SlotPicker {
  readonly #strategy: Strategy
  readonly #band: number
  /**
   * With next-fit, the slot after the last given one. With random, the state of the random numbers.
   * `undo` restores it.
   */
  state = 0
  /**
   * With next-fit, the address after which it continues, if that has no slot: the space no longer
   * contains it, or it is above all slots.
   */
  moved: Address | undefined
  /** With least-recently-released, the slots that were used. */
  #used: Slots | undefined

  constructor(strategy: Strategy, staticBand: number) {
    this.#strategy = strategy
    this.#band = staticBand
    if (strategy.kind === 'random') this.state = strategy.seed | 0
  }

  /**
   * The next slot in or above the static band, or -1. With least-recently-released, only slots that
   * were never used. Changes only the state of a random strategy.
   *
   * @param space the same space in every call
   * @param key the text that the strategy `hashed` uses
   */
  next(space: Space, key: string, { inBand }: { readonly inBand: boolean }): number {
    const slots = this.#strategy.kind === 'least-recently-released' ? this.#usedOf(space) : space.slots
    const band = Math.min(this.#band, slots.size)
    return inBand ? this.#between(space, slots, 0, band, key) : this.#between(space, slots, band, slots.size, key)
  }

  /**
   * With next-fit above the slots of a space, the next address, which the caller gives out.
   * `undefined`: it continues with a slot.
   */
  nextBeyond(space: Space): Address | undefined {
    if (this.state < space.slots.size || this.#strategy.kind !== 'next-fit' || this.state === 0) return undefined
    const behind = nextOf(this.moved ?? space.addressAt(this.state - 1))
    const address = behind && space.lowestFree(behind)
    if (address !== undefined) this.moved = address
    return address
  }

  /** A slot has been given by the strategy. */
  given(slot: number): void {
    if (this.#strategy.kind !== 'next-fit') return
    this.state = slot + 1
    this.moved = undefined
  }

  isInBand(slot: number): boolean {
    return slot < this.#band
  }

  /** Marks a slot as used, or as never used. */
  remember(space: Space, slot: number, isUsed: boolean): void {
    if (this.#strategy.kind !== 'least-recently-released' || slot >= space.slots.size) return
    if (isUsed) this.#usedOf(space).take(slot)
    else this.#usedOf(space).release(slot)
  }

  /** The address after which next-fit continues. */
  cursorIn(space: Space): Address | undefined {
    if (this.#strategy.kind !== 'next-fit') return undefined
    if (this.moved !== undefined) return this.moved
    return this.state === 0 ? undefined : space.addressAt(this.state - 1)
  }

  /** Continues after an address, in a space where it may have another slot or none. */
  moveCursor(space: Space, behind: Address | undefined): void {
    if (this.#strategy.kind !== 'next-fit') return
    const slot = behind === undefined ? 0 : space.slotFrom(behind)
    const hasSlot = behind !== undefined && slot < space.slots.size && space.contains(behind)
    this.state = hasSlot ? slot + 1 : slot
    this.moved = hasSlot ? undefined : behind
  }

  #usedOf(space: Space): Slots {
    this.#used ??= createSlots(space.slots.size)
    return this.#used
  }

  #between(space: Space, slots: Slots, from: number, to: number, key: string): number {
    if (from === to) return -1
    const start = this.#start(space, from, to, key)
    const found = slots.nextFree(start)
    if (found >= 0 && found < to) return found
    if (start === from) return -1
    const around = slots.nextFree(from)
    return around < to ? around : -1
  }

  #start(space: Space, from: number, to: number, key: string): number {
    switch (this.#strategy.kind) {
      case 'next-fit':
        return this.state > from && this.state < to ? this.state : from
      case 'random':
        this.state = (this.state + STEP) | 0
        return from + Math.floor(drawn(this.state) * (to - from))
      case 'hashed': {
        const slot = space.slotFor(key)
        return slot >= from && slot < to ? slot : from + jump(hashText(key), to - from)
      }
      default:
        return from
    }
  }
}
