import { fc, test } from '@fast-check/vitest'
import { expect } from 'vitest'
import { runs } from '../../setup/depth.js'
import { UpgradeWorld } from './upgrade-world.js'

const POOL = '10.0.0.0-27'
const IPAM = { range: '10.0.0.0/27' }

/** Delays of requests, as numbers of turns of the event loop: they decide which request comes first. */
const schedules = fc.record({
  delays: fc.array(fc.nat(12), { minLength: 60, maxLength: 60 }),
  /** The requests before which a process of the operator ends. */
  crashes: fc.array(fc.nat(9), { maxLength: 3 }),
  /** How often the operator resumes the pool before the definitions change. */
  returns: fc.nat(2),
  /** Of each interface, whether its Pod goes on to another container. */
  lives: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
})

class Load {
  readonly world = new UpgradeWorld([IPAM])
  /** The containers that have an address, by address. */
  readonly live = new Map<string, string>()
  /** Whether the definitions have the type of blocks. */
  isOnBlocks = false
  #next = 0
  readonly #store = this.world.client(() => this.turn())

  constructor(readonly delays: readonly number[]) {}

  async turn(): Promise<void> {
    const turns = this.delays[this.#next++ % this.delays.length] as number
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
  }

  /** Adds an interface, as the definition says when the ADD begins, until it has an address. */
  async add(name: string, container: string): Promise<'pool' | 'blocks'> {
    for (;;) {
      await this.turn()
      const by = this.isOnBlocks ? 'blocks' : 'pool'
      const answer = by === 'blocks' ? await this.blockAdd(name) : await this.poolAdd(name, container)
      if (!answer.startsWith('10.')) {
        for (let turn = 0; turn < 300; turn++) await Promise.resolve()
        continue
      }
      expect(this.live.get(answer) ?? container, `${answer} is given twice`).toBe(container)
      this.live.set(answer, container)
      return by
    }
  }

  poolAdd(name: string, container: string): Promise<string> {
    return this.world.add(name, container, 0, this.#store)
  }

  async blockAdd(name: string): Promise<string> {
    await this.world.report(name, [])
    return this.world.blockAdd(name, 0, this.#store)
  }

  /** A Node: each Pod comes, and some go. */
  async node(number: number, lives: readonly boolean[]): Promise<void> {
    for (const [index, stays] of lives.entries()) {
      const name = `p${number}-${index}`
      const container = `c-${name}`
      const by = await this.add(name, container)
      await this.turn()
      if (stays) continue
      for (const [address, other] of this.live) if (other === container) this.live.delete(address)
      await (by === 'pool' ? this.world.del(name, container, 0, this.#store) : this.world.blockDel(name, container))
      await this.world.removePod(name)
    }
  }

  async operator(crashes: readonly number[], returns: number): Promise<void> {
    const left = [...crashes]
    this.world.before = () => this.turn()
    const same = async () => {
      for (;;) {
        const crash = left.pop()
        if (crash !== undefined) await this.world.crash(POOL, crash)
        const outcome = await this.world.copy(POOL)
        await this.turn()
        // the pool may not exist yet, and a Pod that starts has no status yet
        if (outcome.kind === 'notReady') continue
        const isWritten = outcome.kind === 'same' || outcome.differences.every(({ kind }) => kind === 'surplus')
        if (isWritten) return outcome.isPaused
      }
    }
    while ((await this.world.pause(POOL)) !== 'paused') await this.turn()
    expect(await same()).toBe(true)
    // a copied row of a Pod that has gone is in the way of a return until it is swept
    for (let back = 0; back < returns; back++) {
      if ((await this.world.resume(POOL)) !== 'resumed') break
      await this.turn()
      await this.world.pause(POOL)
      expect(await same()).toBe(true)
    }
    this.isOnBlocks = true
  }
}

test.prop([schedules], { numRuns: runs(5), endOnFailure: true })(
  'an upgrade with a pause gives no address twice, and loses none',
  async ({ delays, crashes, returns, lives }) => {
    const load = new Load(delays)
    await load.world.prepare()
    const nodes = [0, 1, 2].map((number) => load.node(number, lives.slice(number * 4, number * 4 + 4)))
    await Promise.all([...nodes, load.operator(crashes, returns)])
    const rows = await load.world.blockRows()
    for (const [address, container] of load.live) {
      expect(rows.some((row) => row.startsWith(`${address} `) && row.includes(` ${container}/`))).toBe(true)
    }
    // after the change nothing is left to the pool
    expect(await load.world.add('last')).toBe('poolNotReady')
  },
)
