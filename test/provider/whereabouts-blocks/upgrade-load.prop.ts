import { fc, test } from '@fast-check/vitest'
import { expect } from 'vitest'
import { runs } from '../../setup/depth.js'
import { UpgradeWorld } from './upgrade-world.js'

const POOL = '10.0.0.0-27'
const IPAM = { range: '10.0.0.0/27' }

const steps = fc.record({
  step: fc.constantFrom('start' as const, 'copy' as const, 'cut' as const, 'back' as const, 'leave' as const),
  /** The request before which a first run of the step ends. */
  crash: fc.option(fc.nat(12)),
  /** Whether the definitions have the type of blocks after a cut-over. */
  switches: fc.boolean(),
})

/** Delays of requests, as numbers of turns of the event loop: they decide which request comes first. */
const schedules = fc.record({
  delays: fc.array(fc.nat(12), { minLength: 60, maxLength: 60 }),
  steps: fc.array(steps, { maxLength: 8 }),
  /** Whether the upgrade begins before the first ADD. */
  early: fc.boolean(),
  /** Of each interface, whether its Pod stays. */
  lives: fc.array(fc.boolean(), { minLength: 15, maxLength: 15 }),
})

/** The steps of an upgrade. */
const FIRST = (['start', 'copy', 'cut'] as const).map((step) => ({ step, crash: null, switches: true }))

type Schedule = typeof schedules extends fc.Arbitrary<infer S> ? S : never

class Load {
  readonly world = new UpgradeWorld([IPAM])
  /** The containers that have an address, by address. */
  readonly live = new Map<string, string>()
  /** Whether the definitions have the type of blocks. */
  isOnBlocks = false
  blockAdds = 0
  #next = 0
  readonly #store = this.world.client(() => this.turn())

  constructor(readonly delays: readonly number[]) {}

  async turn(): Promise<void> {
    const turns = this.delays[this.#next++ % this.delays.length] as number
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
  }

  /** Adds an interface, as the definition says when the ADD begins, until it has an address. */
  async add(name: string): Promise<'pool' | 'blocks'> {
    await this.world.report(name, [])
    for (;;) {
      await this.turn()
      const by = this.isOnBlocks ? 'blocks' : 'pool'
      if (by === 'blocks') this.blockAdds++
      const adds = by === 'blocks' ? this.world.blockAdd(name, 0, this.#store) : this.world.dualAdd(name, this.#store)
      const answer = await adds.finally(() => by === 'blocks' && this.blockAdds--)
      if (!answer.startsWith('10.')) {
        for (let turn = 0; turn < 300; turn++) await Promise.resolve()
        continue
      }
      expect(this.live.get(answer) ?? name, `${answer} is given twice`).toBe(name)
      this.live.set(answer, name)
      await this.world.report(name, [`net1=${answer}`])
      return by
    }
  }

  /** A Node: each Pod comes, and some go. */
  async node(number: number, lives: readonly boolean[]): Promise<void> {
    for (const [index, stays] of lives.entries()) {
      const name = `p${number}-${index}`
      const by = await this.add(name)
      await this.turn()
      if (stays) continue
      for (const [address, other] of this.live) if (other === name) this.live.delete(address)
      // a DEL has the configuration of its ADD
      await (by === 'pool' ? this.world.dualDel(name, this.#store) : this.world.blockDel(name))
      await this.world.removePod(name)
    }
  }

  async operator(all: Schedule['steps']): Promise<void> {
    this.world.before = () => this.turn()
    for (const { step, crash, switches } of all) {
      if (step === 'back') {
        this.isOnBlocks = false
        while (this.blockAdds > 0) await this.turn()
      }
      if (crash !== null) await this.world.crash(POOL, crash, step)
      const { kind } = await this.world[step](POOL)
      const phase = await this.world.phaseOf(POOL)
      if (kind === 'phase' && step === 'cut') this.isOnBlocks = switches && phase === 'blocks'
      if (kind === 'phase' && step === 'back') expect(phase).toBe('dual-write')
      if (kind === 'phase' && step === 'leave') expect(phase).toBeUndefined()
      for (let turn = 0; turn < 20; turn++) await this.turn()
    }
  }
}

test.prop([schedules], { numRuns: runs(10), endOnFailure: true })(
  'an upgrade under load, and back, gives no address twice, and loses none',
  async ({ delays, steps: all, lives, early }) => {
    const load = new Load(delays)
    await load.world.prepare()
    if (early) {
      await load.world.dualAdd('first')
      load.live.set('10.0.0.1', 'first')
      await load.operator(FIRST)
    }
    const nodes = [0, 1, 2].map((number) => load.node(number, lives.slice(number * 5, number * 5 + 5)))
    await Promise.all([...nodes, load.operator(all)])
    const isOnBlocks = (await load.world.phaseOf(POOL)) === 'blocks'
    const rows = await (isOnBlocks ? load.world.blockRows() : load.world.oldRows(POOL))
    const lost = [...load.live].filter(([address, name]) => !rows.includes(`${address} ns/${name} c-${name}/net1`))
    expect(lost).toEqual([])
  },
)
