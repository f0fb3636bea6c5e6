import * as fc from 'fast-check'
import { Address } from 'ipam-kit/cidr'
import { IPPool, OverlappingRangeIPReservation, readRows } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { type AddOutcome, add, del, type InterfaceRequest } from 'ipam-kit/provider/whereabouts'
import { runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { SimulatedCrash, storeOver } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { runs } from '../../setup/depth.js'
import { World } from './world.js'

/** Networks that overlap: five, thirteen and a few more addresses, and one of both families. */
const NETWORKS = [
  { range: '10.0.0.0/29', gateway: '10.0.0.1' },
  { range: '10.0.0.0/28' },
  { ipRanges: [{ range: '10.0.0.0/29' }, { range: 'fd00::/125' }] },
  { ipRanges: [{ range: '10.0.0.0/28' }, { range: '10.0.0.0/28', exclude: ['10.0.0.2-10.0.0.3'] }] },
]

interface Act {
  readonly command: 'ADD' | 'DEL'
  readonly pod: number
  readonly container: number
  readonly network: number
}

const acts = fc.record<Act>({
  command: fc.constantFrom('ADD', 'ADD', 'DEL'),
  pod: fc.nat(4),
  container: fc.nat(1),
  network: fc.nat(NETWORKS.length - 1),
})

/**
 * Each writer has its own acts, and dies at some of its requests, before or after they are done.
 */
const writers = fc.array(
  fc.record({
    acts: fc.array(acts, { maxLength: 8 }),
    crashes: fc.array(fc.integer({ min: 2, max: 40 }), { maxLength: 4 }),
  }),
  { minLength: 1, maxLength: 4 },
)

/** What is obviously right: which interface has been answered which addresses. */
class Model {
  readonly world = new World()
  /** By interface: its addresses, from the answer of an ADD to the begin of a DEL. */
  readonly live = new Map<string, readonly string[]>()
  /** Interfaces with an ADD or a DEL that has begun, and not ended. */
  readonly busy = new Set<string>()
  hasCrashed = false

  request({ pod, container, network }: Act): InterfaceRequest {
    const who = { pod: `p${pod}`, container: `c${pod}-${container}`, ifname: `net${network}` }
    return this.world.request(NETWORKS[network] as object, who)
  }

  async state(): Promise<{ readonly rows: readonly string[]; readonly reservations: ReadonlyMap<string, string> }> {
    const { store } = this.world
    const pools = unwrap(await store.list(IPPool.info)).items
    const rows = pools.flatMap((pool) =>
      readRows(IPPool.parse(pool)).rows.map(({ address, id, ifname }) => `${Address.format(address)} ${id}/${ifname}`),
    )
    const reservations = unwrap(await store.list(OverlappingRangeIPReservation.info)).items.map((object) => {
      const { podref, containerid, ifname } = OverlappingRangeIPReservation.parse(object).spec
      return [object.metadata.name.replaceAll('-', ':'), `${podref} ${containerid}/${ifname}`] as const
    })
    return { rows, reservations: new Map(reservations) }
  }

  /**
   * Each address of an interface that lives has its row and its reservation, and no other holder.
   */
  async assertLive(): Promise<void> {
    const { rows, reservations } = await this.state()
    const all = [...this.live.values()].flat()
    expect(new Set(all).size).toBe(all.length)
    for (const [who, addresses] of this.live) {
      for (const address of addresses) {
        const holders = rows.filter((row) => row.startsWith(`${address} `))
        expect(holders).toContain(`${address} ${who}`)
        // an ADD that died can have a row in another pool, which its next ADD gives up
        if (!this.hasCrashed) expect(holders).toHaveLength(1)
        expect(reservations.get(address) ?? 'none').toContain(who)
      }
    }
  }

  async run({ command, ...rest }: Act, store: Store): Promise<void> {
    const request = this.request({ command, ...rest })
    const who = `${request.containerId}/${request.ifname}`
    // a runtime does one command of an interface after the other
    if (this.busy.has(who)) return
    this.busy.add(who)
    const options = { now: () => 0 }
    try {
      if (command === 'DEL') {
        this.live.delete(who)
        expect((await runTask(del(request), store, options)).kind).toBe('done')
        const { rows } = await this.state()
        expect(rows.filter((row) => row.endsWith(` ${who}`))).toEqual([])
      } else await this.#add(request, who, store)
    } finally {
      this.busy.delete(who)
    }
  }

  async #add(request: InterfaceRequest, who: string, store: Store): Promise<void> {
    const before = this.live.get(who)
    const had = (await this.state()).rows.filter((row) => row.endsWith(` ${who}`))
    const outcome = unwrap(await runTask(add(request), store, { now: () => 0 })).outcome as AddOutcome
    if (outcome.kind !== 'allocated') {
      expect(outcome.kind).toBe('exhausted')
      // what it had before stays for the DEL
      const { rows } = await this.state()
      expect(rows.filter((row) => row.endsWith(` ${who}`) && !had.includes(row))).toEqual([])
      return
    }
    const addresses = outcome.addresses.map(({ prefix }) => Address.format(prefix.address))
    if (before !== undefined) expect(addresses).toEqual(before)
    this.live.set(who, addresses)
  }
}

/** A store whose requests wait for their turn; at the given ones its writer dies. */
function scheduled(store: Store, scheduler: fc.Scheduler, crashes: readonly number[], model: Model): Store {
  let requests = 0
  const turn = async <T>(send: () => Promise<T>): Promise<T> => {
    await scheduler.schedule(Promise.resolve())
    requests++
    const dies = crashes.includes(requests)
    const isBefore = requests % 2 === 0
    if (dies) model.hasCrashed = true
    if (dies && isBefore) throw new SimulatedCrash('before')
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

test('several writers that die between their requests never share an address, and leave nothing behind', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), writers, async (scheduler, given) => {
      const model = new Model()
      const { store } = model.world
      const all = given.map(async (writer) => {
        const client = scheduled(store, scheduler, writer.crashes, model)
        for (const act of writer.acts) {
          try {
            await model.run(act, client)
          } catch (error) {
            if (!(error instanceof SimulatedCrash)) throw error
          }
        }
      })
      await scheduler.waitFor(Promise.all(all))
      await model.assertLive()

      // a runtime adds what it has again, and gets the same
      for (const pod of [0, 1, 2, 3, 4]) {
        for (const container of [0, 1]) {
          for (const network of NETWORKS.keys()) {
            const act: Act = { command: 'DEL', pod, container, network }
            const { containerId, ifname } = model.request(act)
            if (model.live.has(`${containerId}/${ifname}`)) await model.run({ ...act, command: 'ADD' }, store)
            await model.run(act, store)
          }
        }
      }
      const { rows, reservations } = await model.state()
      expect(rows).toEqual([])
      // a DEL that died between its two writes leaves a reservation to the sweep
      if (!model.hasCrashed) expect([...reservations]).toEqual([])
    }),
    { numRuns: runs(2) },
  )
})
