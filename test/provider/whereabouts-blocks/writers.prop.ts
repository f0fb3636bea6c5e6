import { fc, test } from '@fast-check/vitest'
import { Prefix } from 'ipam-kit/cidr'
import { unwrap } from 'ipam-kit/errors'
import { KnownBlocks } from 'ipam-kit/provider/blocks'
import type { AddOutcome, DelOutcome } from 'ipam-kit/provider/whereabouts'
import { blockAdd, blockDel, poolsOf } from 'ipam-kit/provider/whereabouts-blocks'
import { runTask } from 'ipam-kit/run'
import { SimulatedCrash, storeOver } from 'ipam-kit/testing'
import { describe, expect } from 'vitest'
import { runs } from '../../setup/depth.js'
import { networkOf, type Who, World } from './world.js'

const NETWORKS = [
  { range: '10.0.0.0/29', gateway: '10.0.0.1' },
  { ipRanges: [{ range: '10.0.0.0/29' }, { range: 'fd00::/125' }] },
  { ipRanges: [{ range: '10.0.0.0/28' }, { range: '10.0.0.0/29' }] },
]

/** Each writer serves Pods of its own, and dies at some of its requests, before or after it is done. */
const writers = fc.array(
  fc.record({
    acts: fc.array(fc.record({ isAdd: fc.boolean(), pod: fc.nat(2), network: fc.nat(NETWORKS.length - 1) }), {
      maxLength: 8,
    }),
    crashes: fc.array(fc.integer({ min: 2, max: 30 }), { maxLength: 2 }),
  }),
  { minLength: 1, maxLength: 4 },
)

describe('writers at once', () => {
  test.prop([writers], { numRuns: runs(2) })(
    'give no address twice, and a DEL takes back what a writer that died has left',
    async (all) => {
      const world = new World()
      const pools = NETWORKS.flatMap((ipam) => unwrap(poolsOf(networkOf(ipam))))
      for (const pool of pools) await world.store.create(pool)
      await world.operate()

      const live = new Map<string, readonly string[]>()
      const whoOf = (writer: number, pod: number, network: number): Who => {
        return { pod: `p${writer}-${pod}`, ifname: `net${network}` }
      }
      const work = async ({ acts, crashes }: (typeof all)[number], writer: number) => {
        let sent = 0
        const dies = (nth: number) => crashes.includes(nth)
        const step = async <T>(go: () => Promise<T>): Promise<T> => {
          const nth = ++sent
          // others go on meanwhile
          await Promise.resolve()
          if (dies(nth) && nth % 2 === 0) throw new SimulatedCrash()
          const answer = await go()
          if (dies(nth)) throw new SimulatedCrash()
          return answer
        }
        const { store } = world
        const client = storeOver(store, {
          get: (ref) => step(() => store.get(ref)),
          list: (query, options) => step(() => store.list(query, options)),
          create: (object) => step(() => store.create(object)),
          patch: (ref, patch, options) => step(() => store.patch(ref, patch, options)),
        })
        for (const { isAdd, pod, network } of acts) {
          const who = whoOf(writer, pod, network)
          const request = world.request(NETWORKS[network]!, who)
          const key = `${who.pod} ${who.ifname}`
          const task = isAdd ? blockAdd(request, new KnownBlocks()) : blockDel(request, new KnownBlocks())
          if (!isAdd) live.delete(key)
          try {
            const ended = await runTask<AddOutcome | DelOutcome>(task as never, client, { now: () => world.nowMs })
            expect(ended.kind).toBe('done')
            const { outcome } = ended as { outcome: AddOutcome | DelOutcome }
            if (outcome.kind !== 'allocated') continue
            live.set(
              key,
              outcome.addresses.map(({ prefix }) => Prefix.format(prefix).split('/')[0] as string),
            )
          } catch (error) {
            if (!(error instanceof SimulatedCrash)) throw error
          }
          const given = [...live.values()].flat()
          expect(new Set(given).size).toBe(given.length)
        }
      }
      await Promise.all(all.map(work))
      for (const key of live.keys()) {
        const [pod = '', ifname = ''] = key.split(' ')
        expect(await world.check(NETWORKS[Number(ifname.slice(3))]!, { pod, ifname })).toBe('present')
      }
      // the runtime calls DEL for each interface, also for those whose ADD has died
      for (const writer of all.keys()) {
        for (const pod of [0, 1, 2]) {
          for (const network of NETWORKS.keys()) await world.del(NETWORKS[network]!, whoOf(writer, pod, network))
        }
      }
      expect(await world.rows()).toEqual([])
    },
  )
})
