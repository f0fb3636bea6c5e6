import { setTimeout as sleep } from 'node:timers/promises'
import { type Budget, type Goals, type Target, targetOf } from './budget.js'
import type { Measurement } from './harness.js'

/** How long to wait before each further attempt, in milliseconds: a neighbour on the same machine may be busy for a while. */
const PAUSES_MS = [2000, 10_000, 30_000]

/** So far below its floor no ratio falls because of a neighbour, or because the machine is busy. */
const HOPELESS = 10

/** A ratio, and what it is held against. */
export interface Judged extends Measurement {
  readonly target: Target | undefined
  /** How often it was measured. More than once: it had been below its floor, and this is the best. */
  readonly attempts: number
}

/** How a ratio is told. */
export interface Words {
  found(ratio: number, peer: string): string
  missed(floor: number): string
  goal(ratio: number): string
}

const RATIOS: Words = {
  found: (ratio, peer) => `${asRatio(ratio)} of ${peer}`,
  missed: (floor) => `is below the floor ${asRatio(floor)}`,
  goal: asRatio,
}

/**
 * How ratios of times are held: against their floors, for which a machine has to be quiet, or against a tenth of them, on any machine. Counts, such
 * as requests and bytes, are held alike in both.
 */
export type Held = 'floors' | 'tenths'

/** Of the command line. */
export function heldBy({ counts }: { readonly counts?: boolean }): Held {
  return counts === true ? 'tenths' : 'floors'
}

interface GateOptions {
  readonly held: Held
  readonly words?: Words
}

/** Holds measurements against the goals of the budget. */
export class Gate {
  readonly #goals: Goals
  readonly #slack: number
  readonly #words: Words
  readonly #held: Held
  readonly #problems: string[] = []
  readonly #raises: string[] = []

  constructor({ slack }: Pick<Budget, 'slack'>, goals: Goals, { held, words = RATIOS }: GateOptions) {
    this.#goals = goals
    this.#slack = slack
    this.#words = words
    this.#held = held
  }

  /**
   * Measures some peers, and those that are below their floor again, up to three times and each time later: a machine that was busy
   * for a moment is no regression. One that is ten times too low is not measured again, and where tenths are held nothing is.
   */
  async measure(
    work: string,
    peers: readonly string[],
    once: (peers: readonly string[]) => readonly Measurement[] | Promise<readonly Measurement[]>,
  ): Promise<Judged[]> {
    const judge = (result: Measurement, attempts: number): Judged => ({
      ...result,
      target: this.#targetOf(work, result.peer),
      attempts,
    })
    const best = (await once(peers)).map((result) => judge(result, 1))
    for (const [pause, pauseMs] of this.#held === 'tenths' ? [] : PAUSES_MS.entries()) {
      const low = best.filter((result) => isBelow(result) && !isHopeless(result)).map(({ peer }) => peer)
      if (low.length === 0) break
      await sleep(pauseMs)
      for (const again of await once(low)) {
        const index = best.findIndex(({ peer }) => peer === again.peer)
        const before = best[index]!
        best[index] = judge(again.ratio > before.ratio ? again : before, pause + 2)
      }
    }
    for (const result of best) this.#note(result)
    return best
  }

  fail(problem: string): void {
    this.#problems.push(problem)
  }

  /** Says what has failed, and what may be raised. Returns the exit code. */
  close(): number {
    if (this.#raises.length > 0 && this.#held === 'floors') {
      console.log(`\nas good as their goals, "reached" may go from bench/budget.json:\n${this.#raises.join('\n')}`)
    }
    if (this.#problems.length === 0) return 0
    console.log(`\nfailed:\n${this.#problems.join('\n')}`)
    return 1
  }

  #targetOf(work: string, peer: string): Target | undefined {
    const target = targetOf(this.#goals, this.#slack, work, peer)
    if (target === undefined || this.#held === 'floors') return target
    return { ...target, floor: target.floor / HOPELESS }
  }

  #note(result: Judged): void {
    const { work, peer, target } = result
    const words = this.#words
    const found = `${work}: ${words.found(result.ratio, peer)}`
    if (target === undefined) this.fail(`${work}: no goal for ${peer} in bench/budget.json`)
    else if (isBelow(result)) this.fail(`${found} ${words.missed(target.floor)}`)
    else if (target.note !== undefined && result.ratio >= target.goal) {
      this.#raises.push(`${found}, goal ${words.goal(target.goal)}`)
    }
  }
}

function isBelow({ ratio, target }: Judged): boolean {
  return target !== undefined && ratio < target.floor
}

function isHopeless({ ratio, target }: Judged): boolean {
  return target !== undefined && ratio * HOPELESS < target.floor
}

export function asRatio(value: number): string {
  if (value < 2) return `${value.toFixed(2)}x`
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)}x`
}
