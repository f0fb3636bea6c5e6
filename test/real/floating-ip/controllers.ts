import assert from 'node:assert/strict'
import type { Dice } from 'ipam-kit/testing'
import { ControllerProcess } from '../controller/process.js'
import { paced } from '../pace.js'

const LEASE = { 'lease-duration': paced(6), 'renew-deadline': paced(3), 'retry-period': paced(1) }
const ELECTION = Object.entries(LEASE).flatMap(([name, value]) => [`--${name}`, `${value}`])
/** A controller that ends more often by itself has a fault. */
const MAX_RESTARTS = 10

/**
 * Two processes of the example, one of which leads. As a kubelet does, what has ended is started
 * again.
 */
export class Controllers {
  readonly #start: () => ControllerProcess
  #running: ControllerProcess[] = []
  readonly #lastWords: string[] = []
  kills = 0
  /** How often the one that leads was suspended for longer than its Lease. */
  suspensions = 0
  /** Why none is started any more. */
  fault: string | undefined

  constructor(program: string, kubeconfig: string, flags: readonly string[]) {
    this.#start = () => new ControllerProcess(program, kubeconfig, [...ELECTION, ...flags])
  }

  start(): void {
    for (let nth = 0; nth < 2; nth++) this.#add()
  }

  get leads(): boolean {
    return this.#running.some(({ leads }) => leads)
  }

  /** What they have said last. */
  get said(): string {
    return this.#running.map(({ lines }) => lines.slice(-15).join('\n')).join('\n---\n')
  }

  /** How often one has ended by itself. */
  get restarts(): number {
    return this.#lastWords.length
  }

  /** The one that leads, or both of them. */
  async kill(dice: Dice): Promise<void> {
    const isBoth = dice.chance(0.3)
    const killed = this.#running.filter(({ leads }) => isBoth || leads)
    this.#running = this.#running.filter((each) => !killed.includes(each))
    await Promise.all(killed.map((each) => each.stop('SIGKILL')))
    for (const each of killed) assert(!hasStack(each), each.lines.join('\n'))
    this.kills += killed.length
    for (const _ of killed) this.#add()
  }

  /** Suspends the one that leads for longer than its Lease: another one leads before it continues. */
  async suspend(): Promise<void> {
    const leader = this.#running.find(({ leads }) => leads)
    await leader?.suspend(LEASE['lease-duration'] + LEASE['retry-period'] + 3)
    if (leader !== undefined) this.suspensions++
  }

  /** Ends them in order. */
  async end(): Promise<void> {
    const codes = await Promise.all(this.#running.map((each) => each.stop()))
    assert.deepEqual(new Set(codes), new Set([0]))
  }

  async close(): Promise<void> {
    await Promise.all(this.#running.map((each) => each.stop('SIGKILL')))
  }

  #add(): void {
    const controller = this.#start()
    this.#running.push(controller)
    controller.whenItEndsItself((code) => {
      this.#running = this.#running.filter((each) => each !== controller)
      this.#lastWords.push(`ended with ${code}: ${controller.lines.slice(-5).join('\n')}`)
      const most = MAX_RESTARTS + this.suspensions
      if (code === 1 && !hasStack(controller) && this.restarts <= most) this.#add()
      else this.fault ??= this.#lastWords.join('\n---\n')
    })
  }
}

function hasStack({ lines }: ControllerProcess): boolean {
  return lines.some((line) => /\bat .*:\d+:\d+/.test(line))
}
