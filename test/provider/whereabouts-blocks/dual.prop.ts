import * as fc from 'fast-check'
import { Prefix } from 'ipam-kit/cidr'
import type { Outcome } from 'ipam-kit/plan'
import type { AddOutcome, DelOutcome } from 'ipam-kit/provider/whereabouts'
import { blockAdd, blockDel, dualAdd, dualDel } from 'ipam-kit/provider/whereabouts-blocks'
import { runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { SimulatedCrash, storeOver } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { runs } from '../../setup/depth.js'
import { DualWorld, type Phase, textOf } from './dual-world.js'

const RANGES = ['10.0.0.0/29', 'fd00::/125'] as const
const POOLS = ['10.0.0.0-29', 'fd00---125'] as const
const NETWORKS = [{ range: RANGES[0] }, { ipRanges: RANGES.map((range) => ({ range })) }]

interface Act {
  readonly isAdd: boolean
  readonly pod: number
  readonly container: number
  readonly network: number
  /** Whether the definition of the Pod has the type `ipam-kit`, if it may have. */
  readonly isOnBlocks: boolean
}

const acts = fc.record<Act>({
  isAdd: fc.constantFrom(true, true, false),
  pod: fc.nat(3),
  container: fc.nat(1),
  network: fc.nat(NETWORKS.length - 1),
  isOnBlocks: fc.boolean(),
})

/** A writer dies at some of its requests, before or after they are done. */
const writers = fc.array(
  fc.record({
    acts: fc.array(acts, { maxLength: 8 }),
    crashes: fc.array(fc.integer({ min: 2, max: 50 }), { maxLength: 4 }),
  }),
  { minLength: 1, maxLength: 4 },
)

/** When a pool gets which phase: after a number of requests of all writers. */
const changes = fc.array(
  fc.record({
    after: fc.nat(12),
    pool: fc.nat(1),
    phase: fc.constantFrom<Phase>(null, 'dual-write', 'dual-write', 'blocks', 'blocks'),
  }),
  { maxLength: 12 },
)

/** What is obviously right: which interface has been answered which addresses. */
class Model {
  readonly world = new DualWorld()
  /** By container and interface: its addresses, from the answer of an ADD to the begin of a DEL. */
  readonly live = new Map<string, readonly string[]>()
  /** The type of the definition that an interface was added with: its DEL has the same. */
  readonly #types = new Map<string, 'dual' | 'blocks'>()
  readonly #busy = new Set<string>()
  readonly #uids: string[] = []
  /** How often a pool was without a phase. */
  absences: readonly number[] = [0, 0]
  readonly phases: Phase[]

  constructor(phases: readonly Phase[]) {
    this.phases = [...phases]
  }

  async prepare(): Promise<this> {
    await this.world.prepare(NETWORKS[1] as object)
    for (const [index, range] of RANGES.entries()) await this.world.pool(range, this.phases[index] as Phase)
    for (const pod of [0, 1, 2, 3]) this.#uids.push(await this.world.makePod(`p${pod}`))
    return this
  }

  async setPhase(pool: number, phase: Phase): Promise<void> {
    this.phases[pool] = phase
    if (phase === null) this.absences = this.absences.map((count, index) => (index === pool ? count + 1 : count))
    await this.world.setPhase(POOLS[pool] as string, phase)
  }

  request({ pod, container, network }: Omit<Act, 'isAdd' | 'isOnBlocks'>) {
    const who = {
      pod: `p${pod}`,
      container: `c${pod}-${container}`,
      ifname: `net${network}`,
      uid: this.#uids[pod] as string,
    }
    return this.world.request(NETWORKS[network] as object, who)
  }

  /**
   * A runtime carries out one command of an interface of a Pod after the other. It adds a container
   * after the other one of the Pod has ended, whose DEL may come later.
   */
  async run(act: Act, store: Store): Promise<void> {
    const { containerId, ifname } = this.request(act)
    const who = `${containerId}/${ifname}`
    const interfaceOfPod = `${act.pod}/${ifname}`
    if (this.#busy.has(interfaceOfPod)) return
    this.#busy.add(interfaceOfPod)
    if (act.isAdd) this.live.delete(`c${act.pod}-${1 - act.container}/${ifname}`)
    try {
      await (act.isAdd ? this.#add(act, who, store) : this.#del(act, who, store))
    } finally {
      this.#busy.delete(interfaceOfPod)
    }
  }

  async #add(act: Act, who: string, store: Store): Promise<void> {
    const before = this.live.get(who)
    const mayBeOnBlocks = act.isOnBlocks && this.phases.every((phase) => phase === 'blocks')
    const type = this.#types.get(who) ?? (mayBeOnBlocks ? 'blocks' : 'dual')
    this.#types.set(who, type)
    const hadPhase = this.phases.map((phase) => phase !== null)
    const { absences } = this
    const request = this.request(act)
    const blocks = { ...request, network: { config: request.config, pools: [] } }
    const text = textOf(await this.#end<AddOutcome>(type === 'dual' ? dualAdd(request) : blockAdd(blocks), store))
    if (/^[a-zA-Z]+: /u.test(text)) {
      expect(text).toMatch(/^(exhausted|taken|contended|poolNotReady: block .* being deleted)/u)
      return
    }
    const addresses = text.split(' ')
    if (before !== undefined) expect(addresses).toEqual(before)
    this.live.set(who, addresses)
    const [old, rows] = [await this.world.oldRows(), await this.world.blockRows()]
    for (const address of addresses) {
      const pool = address.includes(':') ? 1 : 0
      const row = `${address} ns/p${act.pod} ${who}`
      if (type === 'dual') expect(old).toContain(row)
      const hadPhaseAlways = hadPhase[pool] === true && absences[pool] === this.absences[pool]
      if (type === 'blocks' || hadPhaseAlways) expect(rows).toContain(row)
    }
    const given = [...this.live.values()].flat()
    expect(new Set(given).size).toBe(given.length)
  }

  async #del(act: Act, who: string, store: Store): Promise<void> {
    const type = this.#types.get(who) ?? 'dual'
    this.live.delete(who)
    const hadPhase = this.phases.slice(0, act.network + 1).some((phase) => phase !== null)
    const { absences } = this
    const request = this.request(act)
    const blocks = { ...request, network: { config: request.config, pools: [] } }
    await this.#end<DelOutcome>(type === 'blocks' ? blockDel(blocks) : dualDel(request), store)
    this.#types.delete(who)
    const isOwn = (row: string) => row.endsWith(` ${who}`)
    if (type !== 'blocks') expect((await this.world.oldRows()).filter(isOwn)).toEqual([])
    if (hadPhase && absences.every((count, index) => count === this.absences[index])) {
      expect((await this.world.blockRows()).filter(isOwn)).toEqual([])
    }
  }

  async #end<O extends Outcome>(task: Parameters<typeof runTask<O>>[0], store: Store): Promise<O> {
    const ended = await runTask(task, store, { now: () => this.world.nowMs })
    if (ended.kind !== 'done') throw new Error(JSON.stringify(ended.failure))
    return ended.outcome
  }

  /** Each address of an interface that lives has its row in the truth. */
  async assertLive(): Promise<void> {
    const [old, rows] = [await this.world.oldRows(), await this.world.blockRows()]
    for (const [who, addresses] of this.live) {
      for (const address of addresses) {
        const holders = (this.#types.get(who) === 'dual' ? old : rows).filter((row) => row.startsWith(`${address} `))
        expect(holders).toEqual([expect.stringMatching(` ${who}$`)])
      }
    }
  }

  /** Whether both sides have the same rows. */
  async areSame(): Promise<boolean> {
    return JSON.stringify(await this.world.oldRows()) === JSON.stringify(await this.world.blockRows())
  }

  /** Whether `cutOver` would change the phase: the blocks have each row of the pools. */
  async mayCutOver(pool: number): Promise<boolean> {
    const [old, rows] = [await this.world.oldRows(), await this.world.blockRows()]
    return this.phases[pool] === 'dual-write' && old.every((row) => rows.includes(row))
  }

  async makeEqual(): Promise<void> {
    for (const [index, range] of RANGES.entries()) {
      await this.world.makeEqual(POOLS[index] as string, Prefix.first(Prefix.parse(range)))
    }
  }

  /** All interfaces end. With a phase nothing is left. */
  async end(): Promise<void> {
    const { store } = this.world
    for (const [index, phase] of this.phases.entries()) if (phase === null) await this.setPhase(index, 'dual-write')
    for (const pod of [0, 1, 2, 3]) {
      for (const container of [0, 1]) {
        for (const network of NETWORKS.keys()) {
          const act = { pod, container, network, isOnBlocks: false }
          const { containerId, ifname } = this.request(act)
          if (this.live.has(`${containerId}/${ifname}`)) await this.run({ ...act, isAdd: true }, store)
          await this.run({ ...act, isAdd: false }, store)
        }
      }
    }
    expect([await this.world.oldRows(), await this.world.blockRows()]).toEqual([[], []])
  }
}

/** A store whose requests wait for their turn; at the given ones its writer dies. */
function scheduled(
  store: Store,
  scheduler: fc.Scheduler,
  crashes: readonly number[],
  onRequest: () => Promise<void>,
): Store {
  let requests = 0
  const turn = async <T>(send: () => Promise<T>): Promise<T> => {
    await scheduler.schedule(Promise.resolve())
    await onRequest()
    requests++
    const dies = crashes.includes(requests)
    if (dies && requests % 2 === 0) throw new SimulatedCrash('before')
    const answer = await send()
    if (dies) throw new SimulatedCrash('after')
    return answer
  }
  return storeOver(store, {
    get: (ref) => turn(() => store.get(ref)),
    list: (query, options) => turn(() => store.list(query, options)),
    create: (object) => turn(() => store.create(object)),
    patch: (ref, patch, options) => turn(() => store.patch(ref, patch, options)),
    delete: (ref, options) => turn(() => store.delete(ref, options)),
  })
}

interface Writer {
  readonly acts: readonly Act[]
  readonly crashes: readonly number[]
}

/** The same without definitions of the type `ipam-kit`. */
function onPools(given: readonly Writer[]): readonly Writer[] {
  return given.map(({ acts: all, crashes }) => ({ acts: all.map((act) => ({ ...act, isOnBlocks: false })), crashes }))
}

async function work(
  model: Model,
  scheduler: fc.Scheduler,
  given: readonly Writer[],
  onRequest: () => Promise<void>,
): Promise<void> {
  const all = given.map(async (writer) => {
    const client = scheduled(model.world.store, scheduler, writer.crashes, onRequest)
    for (const act of writer.acts) {
      try {
        await model.run(act, client)
      } catch (error) {
        if (!(error instanceof SimulatedCrash)) throw error
      }
    }
  })
  await scheduler.waitFor(Promise.all(all))
}

const start = fc.tuple(...POOLS.map(() => fc.constantFrom<Phase>(null, 'dual-write', 'blocks')))

describe('writers of both sides that die between their requests', () => {
  test('never share an address, whatever phase a pool gets in between', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), writers, start, changes, async (scheduler, given, phases, wanted) => {
        const model = await new Model(phases).prepare()
        const left = [...wanted]
        let requests = 0
        const onRequest = async () => {
          const [change] = left
          if (change === undefined || requests++ < change.after) return
          requests = 0
          left.shift()
          if (change.phase !== 'blocks' || (await model.mayCutOver(change.pool))) {
            await model.setPhase(change.pool, change.phase)
          }
        }
        await work(model, scheduler, onPools(given), onRequest)
        await model.assertLive()
        await model.end()
      }),
      { numRuns: runs(1) },
    )
  })

  test('lose no address by changes to `blocks` and back', async () => {
    await fc.assert(
      // more often, and a writer would not get its turn
      fc.asyncProperty(fc.scheduler(), writers, fc.integer({ min: 4, max: 10 }), async (scheduler, given, rest) => {
        const model = await new Model(['dual-write', 'dual-write']).prepare()
        let requests = 0
        const onRequest = async () => {
          if (requests++ < rest) return
          requests = 0
          const isOnBlocks = model.phases[0] === 'blocks'
          if (!(await model.areSame())) {
            if (isOnBlocks) await model.makeEqual()
            return
          }
          for (const pool of POOLS.keys()) await model.setPhase(pool, isOnBlocks ? 'dual-write' : 'blocks')
        }
        await work(model, scheduler, onPools(given), onRequest)
        await model.assertLive()
        await model.end()
      }),
      { numRuns: runs(1) },
    )
  })

  test('never share an address with writers of blocks alone, after a change to `blocks` with the same rows on both sides', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), writers, fc.nat(40), async (scheduler, given, after) => {
        const model = await new Model(['dual-write', 'dual-write']).prepare()
        let requests = 0
        const onRequest = async () => {
          if (requests++ < after || model.phases[0] === 'blocks') return
          if (!(await model.areSame())) return
          for (const pool of POOLS.keys()) await model.setPhase(pool, 'blocks')
        }
        await work(model, scheduler, given, onRequest)
        await model.assertLive()
        await model.end()
      }),
      { numRuns: runs(1) },
    )
  })
})
