import { bundle } from '../../test/real/bundle.js'
import { MAIN, startGround } from '../../test/real/controller/ground.js'
import type { Budget } from '../budget.js'
import { asRatio, type Gate } from '../gate.js'
import { measurement } from '../harness.js'
import { asTime, type Report } from '../report.js'
import { ClaimRounds, POOLS, type Round } from './claim-rounds.js'

const OBJECTS = '1 process on objects'
const ONE = '1 process on blocks'
const TWO = '2 processes on blocks'
const FOUR = '4 processes on blocks'
const BARE = 'bare client'
/** Of several goals of which one has to be reached. */
const NEARER = 'what the nearer goal allows'
/** In the order in which they take turns. */
const SIDES = [OBJECTS, ONE, TWO, FOUR, BARE] as const
type Side = (typeof SIDES)[number]

export interface ClaimsOptions {
  readonly gate: Gate
  readonly report: Report
  readonly budget: Budget['blocks']
  /** Counts alone matter: few claims, one round. */
  readonly isShort: boolean
}

interface Size {
  readonly claims: number
  readonly rounds: number
  readonly sides: readonly Side[]
}

const FULL: Size = { claims: 500, rounds: 3, sides: SIDES }
const SHORT: Size = { claims: 100, rounds: 1, sides: SIDES.filter((side) => side !== TWO) }

/**
 * Example controllers that bind claims on blocks, beside one on IPAddress objects and a client that
 * does the same writes.
 */
export async function measureClaims(options: ClaimsOptions): Promise<void> {
  const size = options.isShort ? SHORT : FULL
  const program = await bundle(MAIN, 'bench-blocks-controller')
  const ground = await startGround('upstream', { bare: true })
  const rounds = new ClaimRounds(ground, program, size.claims)
  try {
    await new Claims(options, rounds, size).measure()
  } finally {
    rounds.close()
    await ground.server.stop()
  }
}

class Claims {
  readonly #options: ClaimsOptions
  readonly #rounds: ClaimRounds
  readonly #size: Size
  readonly #seen = new Map<Side, Round[]>(SIDES.map((side) => [side, []]))

  constructor(options: ClaimsOptions, rounds: ClaimRounds, size: Size) {
    this.#options = options
    this.#rounds = rounds
    this.#size = size
  }

  async measure(): Promise<void> {
    const { gate, report, budget } = this.#options
    // all sides in turn; only a row that is below its floor is measured again by itself
    let best: Best | undefined = await this.#bestOf(this.#size.sides)
    const together = best
    const one = workOf(ONE)
    for (const result of await gate.measure(one, [OBJECTS], async () => {
      const times = best ?? (await this.#bestOf([OBJECTS, ONE]))
      best = undefined
      return [measurement(one, OBJECTS, times.get(ONE)!, times.get(OBJECTS)!)]
    })) {
      report.ratio(result)
    }
    if (together.has(TWO)) this.#tell(together, TWO, ONE)
    const four = workOf(FOUR)
    let latest: Best | undefined
    const judged = await gate.measure(four, [NEARER], async () => {
      latest = latest === undefined ? together : await this.#bestOf([ONE, FOUR, BARE])
      const ours = latest.get(FOUR)!
      const allowed = Object.entries(budget.fourProcesses).map(([peer, goal]) => latest!.get(peer as Side)! / goal)
      return [measurement(four, NEARER, ours, Math.max(...allowed))]
    })
    for (const [peer, goal] of Object.entries(budget.fourProcesses)) this.#tell(latest!, FOUR, peer as Side, goal)
    for (const result of judged) report.ratio(result)
    for (const side of this.#size.sides) await this.#tellCounts(side)
  }

  /** The best time of a claim, in nanoseconds. */
  async #bestOf(sides: readonly Side[]): Promise<Best> {
    const best = new Map<Side, number>()
    for (let nth = 0; nth < this.#size.rounds; nth++) {
      for (const side of sides) {
        const round = await this.#run(side)
        this.#seen.get(side)!.push(round)
        const ns = (round.seconds * 1e9) / round.claims
        best.set(side, Math.min(best.get(side) ?? Number.POSITIVE_INFINITY, ns))
      }
    }
    return best
  }

  #run(side: Side): Promise<Round> {
    if (side === BARE) return this.#rounds.bare()
    return this.#rounds.controlled(side === OBJECTS ? 'objects' : 'blocks', Number.parseInt(side, 10))
  }

  /** A ratio without a floor of its own. */
  #tell(best: Best, side: Side, peer: Side, goal?: number): void {
    const { work, oursNs, theirsNs, ratio } = measurement(workOf(side), peer, best.get(side)!, best.get(peer)!)
    const cells = [work, peer, asTime(oursNs), asTime(theirsNs), asRatio(ratio)]
    this.#options.report.row({ work, peer, oursNs, theirsNs, ratio, goal }, [
      ...cells,
      goal === undefined ? '-' : asRatio(goal),
      '-',
    ])
  }

  /**
   * What a claim took, over all rounds. How often processes meet depends on the load of the machine:
   * a side above a limit is measured again, and the last round of it counts.
   */
  async #tellCounts(side: Side): Promise<void> {
    const { gate, report, budget } = this.#options
    let rounds = this.#seen.get(side)!
    const limitsOf = { requests: budget.requestsPerClaim[side], conflicts: budget.conflictsPerClaim[side] }
    for (let again = 0; again < MORE_COUNTS && isAbove(rounds, limitsOf); again++) rounds = [await this.#run(side)]
    const claims = rounds.reduce((sum, round) => sum + round.claims, 0)
    for (const [what, limits, of] of [
      ['requests', budget.requestsPerClaim, ({ writes, reads }: Round['requests']) => writes + reads],
      ['conflicts', budget.conflictsPerClaim, ({ conflicts }: Round['requests']) => conflicts],
    ] as const) {
      const perClaim = rounds.reduce((sum, { requests }) => sum + of(requests), 0) / claims
      const most = limits[side]
      const work = `${what} for a claim, ${side}`
      report.row({ work, ours: perClaim, most }, [
        work,
        '-',
        perClaim.toFixed(2),
        '-',
        '-',
        '-',
        most === undefined ? '-' : `at most ${most}`,
      ])
      if (most !== undefined && !(perClaim <= most)) gate.fail(`${work}: ${perClaim.toFixed(2)} is above ${most}`)
    }
  }
}

type Best = ReadonlyMap<Side, number>

/** How often a side whose counts are above a limit is measured again. */
const MORE_COUNTS = 2

function isAbove(
  rounds: readonly Round[],
  most: { readonly requests: number | undefined; readonly conflicts: number | undefined },
): boolean {
  const sum = (of: (round: Round) => number) => rounds.reduce((total, round) => total + of(round), 0)
  const claims = sum((round) => round.claims)
  const requests = sum(({ requests: { writes, reads } }) => writes + reads) / claims
  const conflicts = sum((round) => round.requests.conflicts) / claims
  return !(
    requests <= (most.requests ?? Number.POSITIVE_INFINITY) && conflicts <= (most.conflicts ?? Number.POSITIVE_INFINITY)
  )
}

function workOf(side: Side): string {
  return `bind claims over ${POOLS} pools, ${side}`
}
