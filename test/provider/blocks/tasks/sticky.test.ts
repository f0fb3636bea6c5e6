import { Address } from 'ipam-kit/cidr'
import { allocate, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { runTask } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'
import type { IPPoolSpec } from '../../../../src/crd/ipam-kit/ip-pool.js'
import type { AllocationRequest } from '../../../../src/provider/blocks/tasks/request.js'
import { blocksIn, kinds, poolIn, request } from '../world.js'

const FAMILIES = [4, 6] as const
/** One block of sixteen addresses, and four of them. */
const one = {
  4: { cidr: '10.0.0.0/24', ranges: ['10.0.0.16/28'] },
  6: { cidr: 'fd00::/120', ranges: ['fd00::10/124'] },
} as const
const four = {
  4: { cidr: '10.0.0.0/24', ranges: ['10.0.0.16-10.0.0.79'] },
  6: { cidr: 'fd00::/120', ranges: ['fd00::10-fd00::4f'] },
} as const
const firsts = { 4: Address.parse('10.0.0.16'), 6: Address.parse('fd00::10') }
const mac = '02:00:00:00:00:0a'

/** A pool of a family, and a process that gives of it. */
class Tried {
  readonly #family: 4 | 6
  readonly store = memoryStore({ kinds, now: () => 0, uid: (n) => `uid-${n}` })
  readonly #known = new KnownBlocks()
  nowMs = 1_000_000

  constructor(family: 4 | 6) {
    this.#family = family
  }

  async pool(spec: Partial<IPPoolSpec>, subnets: typeof one | typeof four = one): Promise<void> {
    await poolIn(this.store, 'blue', { subnets: [subnets[this.#family]], ...spec })
  }

  /**
   * The first unit that was given, counted from the first address on; else the kind of the outcome.
   */
  async ask(uid: string, more: Partial<AllocationRequest> = {}): Promise<number | string> {
    const { ipv4, ipv6 } = more.prefixLengths ?? {}
    const prefixLengths = this.#family === 4 ? { ipv4 } : { ipv6 }
    const wanted = request(uid, { families: [this.#family], ...more, ...(more.prefixLengths && { prefixLengths }) })
    const ended = await runTask(allocate(wanted, this.#known), this.store, { now: () => this.nowMs })
    if (ended.kind !== 'done') throw new Error(JSON.stringify(ended))
    if (!('allocations' in ended.outcome)) return ended.outcome.kind
    const { address } = ended.outcome.allocations[0]!
    return Number(Address.distance(firsts[this.#family], address))
  }

  async giveBack(uid: string): Promise<void> {
    const task = release({ owner: { uid }, pools: ['blue'] }, this.#known)
    expect(await runTask(task, this.store, { now: () => this.nowMs })).toMatchObject({ outcome: { kind: 'released' } })
  }
}

const wants: [string, Partial<AllocationRequest>][] = [
  ['one address', {}],
  ['four in a row', { count: 4 }],
  ['a prefix', { prefixLengths: { ipv4: 30, ipv6: 126 } }],
]
const rules: [string, IPPoolSpec['sticky'], Partial<AllocationRequest>][] = [
  ['a MAC', { by: 'mac', forSeconds: 60 }, { mac }],
  ['an owner of the same name', { by: 'owner', forSeconds: 60 }, { owner: { uid: '', name: 'ns/db-0' } }],
]

describe.each(FAMILIES)('what is kept in IPv%i', (family) => {
  describe.each(rules)('for %s', (_, sticky, key) => {
    const same = (uid: string, more: Partial<AllocationRequest>) => ({
      ...key,
      ...more,
      ...(key.owner === undefined ? {} : { owner: { ...key.owner, uid } }),
    })

    test.each(wants)('is that which was released last, through every rolling update: %s', async (_, want) => {
      const tried = new Tried(family)
      await tried.pool({ sticky })
      const size = want.prefixLengths === undefined ? (want.count ?? 1) : 4
      expect(await tried.ask('v0', same('v0', want))).toBe(0)
      expect(await tried.ask('v1', same('v1', want))).toBe(size)
      expect(await tried.ask('v2', same('v2', want))).toBe(2 * size)
      for (const uid of ['v2', 'v0', 'v1']) {
        tried.nowMs += 1000
        await tried.giveBack(uid)
      }
      for (let version = 3; version < 6; version++) {
        const uid = `v${version}`
        expect(await tried.ask(uid, same(uid, want))).toBe(size)
        tried.nowMs += 1000
        await tried.giveBack(uid)
      }
    })

    test('is that which was given last of two that were released at the same time', async () => {
      const tried = new Tried(family)
      await tried.pool({ sticky })
      for (const uid of ['v0', 'v1']) await tried.ask(uid, same(uid, {}))
      for (const uid of ['v1', 'v0']) await tried.giveBack(uid)
      expect(await tried.ask('v2', same('v2', {}))).toBe(1)
    })

    test.each(wants.slice(1))('in pieces is offered as %s', async (_, want) => {
      const tried = new Tried(family)
      await tried.pool({ sticky })
      for (let n = 0; n < 4; n++) await tried.ask(`v${n}`, same(`v${n}`, {}))
      await tried.ask('rest', { count: 4 })
      for (let n = 0; n < 4; n++) await tried.giveBack(`v${n}`)
      expect(await tried.ask('offGrid', { count: 9 })).toBe('exhausted')
      expect(await tried.ask('v4', same('v4', want))).toBe(0)
    })

    test.each(wants.slice(1))('is offered beside what is free, where neither is enough: %s', async (_, want) => {
      const tried = new Tried(family)
      await tried.pool({ sticky })
      for (const uid of ['v0', 'v1']) await tried.ask(uid, same(uid, {}))
      const rest = { count: 12, addresses: [Address.add(firsts[family], 4n)] }
      expect(await tried.ask('rest', rest)).toBe(4)
      for (const uid of ['v0', 'v1']) await tried.giveBack(uid)
      tried.nowMs += 59_000
      expect(await tried.ask('offGrid', want)).toBe('exhausted')
      expect(await tried.ask('v2', same('v2', want))).toBe(0)
    })

    test('is offered as one address where it was several', async () => {
      const tried = new Tried(family)
      await tried.pool({ sticky })
      await tried.ask('v0', same('v0', { count: 16 }))
      await tried.giveBack('v0')
      expect(await tried.ask('offGrid')).toBe('exhausted')
      expect(await tried.ask('v1', same('v1', {}))).toBe(0)
    })
  })

  test.each([
    [false, 16],
    [true, 0],
  ])('in the block of another node, with borrow: %s', async (borrow, expected) => {
    const tried = new Tried(family)
    const node = (name: string) => ({ node: { name }, mac })
    await tried.pool({ sticky: { by: 'mac', forSeconds: 60 }, affinity: { by: 'node', borrow } }, four)
    expect(await tried.ask('v0', node('n1'))).toBe(0)
    await tried.giveBack('v0')
    expect(await tried.ask('v1', node('n2'))).toBe(expected)
    await tried.giveBack('v1')
    // back on its node, and for one that is on none
    tried.nowMs += 1000
    expect(await tried.ask('v2', node('n1'))).toBe(0)
    await tried.giveBack('v2')
    expect(await tried.ask('v3', { mac })).toBe(0)
    expect((await blocksIn(tried.store)).map(({ spec }) => spec.node)).toEqual(borrow ? ['n1'] : ['n1', 'n2'])
  })

  test('in the block of another node is asked for by name, also without borrow', async () => {
    const tried = new Tried(family)
    await tried.pool(
      { sticky: { by: 'mac', forSeconds: 60 }, affinity: { by: 'node', borrow: false, maxBlocksPerNode: 1 } },
      four,
    )
    expect(await tried.ask('v0', { node: { name: 'n1' }, mac })).toBe(0)
    await tried.giveBack('v0')
    const asked = { node: { name: 'n2' }, mac, addresses: [firsts[family]] }
    expect(await tried.ask('v1', asked)).toBe(0)
  })
})
