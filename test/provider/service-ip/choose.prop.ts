import * as fc from 'fast-check'
import { Ledger } from 'ipam-kit/allocator'
import { Address, Prefix } from 'ipam-kit/cidr'
import { ServiceCIDR } from 'ipam-kit/crd/networking'
import {
  namedServiceAddress,
  nextServiceAddress,
  type ServiceRange,
  serviceRanges,
  usableAddresses,
} from 'ipam-kit/provider/service-ip'
import { expect, test } from 'vitest'
import { runs } from '../../setup/depth.js'
import { READY, range } from './world.js'

/** What is obviously right: offsets in lists, and a set of texts. */
class Model {
  readonly inUse = new Set<string>()
  readonly #ranges: readonly { readonly texts: readonly string[]; readonly isReady: boolean }[]

  constructor(ranges: readonly ServiceRange[]) {
    this.#ranges = ranges.map(({ prefix, isReady }) => {
      const size = 2 ** (Address.bitsOf(prefix.address.family) - prefix.length)
      const last = prefix.address.family === 4 ? size - 2 : size - 1
      const texts: string[] = []
      for (let nth = 1; nth <= last; nth++) texts.push(Address.format(Address.add(prefix.address, nth)))
      return { texts, isReady }
    })
  }

  next(start: number): string | undefined {
    for (const { texts, isReady } of this.#ranges) {
      if (!isReady || texts.length === 0) continue
      const size = 2 ** Math.ceil(Math.log2(texts.length + 1))
      const band = size <= 16 ? 0 : Math.min(Math.max(16, Math.floor(size / 16)), 256)
      const upper = texts.slice(band)
      const at = Math.floor(start * upper.length)
      const order = [...upper.slice(at), ...upper.slice(0, at), ...texts.slice(0, band)]
      const free = order.find((text) => !this.inUse.has(text))
      if (free !== undefined) return free
    }
    return undefined
  }

  has(text: string): boolean {
    return this.#ranges.some(({ texts, isReady }) => isReady && texts.includes(text))
  }
}

const objects = fc
  .uniqueArray(
    fc.record({ at: fc.integer({ min: 0, max: 15 }), length: fc.integer({ min: 26, max: 32 }), isReady: fc.boolean() }),
    {
      minLength: 1,
      maxLength: 4,
      selector: ({ at, length }) => Prefix.format(Prefix.masked(Prefix.parse(`10.0.0.${at * 16}/${length}`))),
    },
  )
  .map((drawn) =>
    drawn.map(({ at, length, isReady }, nth) => {
      const cidr = Prefix.format(Prefix.masked(Prefix.parse(`10.0.0.${at * 16}/${length}`)))
      const conditions = [{ ...READY, status: isReady ? 'True' : 'False', reason: 'x', message: '' }]
      return ServiceCIDR.parse({ ...range(`r${nth}`, cidr), status: { conditions } })
    }),
  )

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ next: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }) }) },
    { weight: 2, arbitrary: fc.record({ named: fc.integer({ min: 0, max: 255 }) }) },
    { weight: 1, arbitrary: fc.record({ release: fc.nat() }) },
  ),
  { maxLength: 120 },
)

test('the choice is that of a list of addresses and a set, in every state', () => {
  fc.assert(
    fc.property(objects, steps, (drawn, actions) => {
      const ranges = serviceRanges(drawn)
      const ledger = new Ledger({ space: usableAddresses(ranges) })
      const model = new Model(ranges)
      const take = (text: string) => {
        ledger.set(text, { prefix: Prefix.parse(`${text}/32`), reason: 'held', holder: { key: text } })
        model.inUse.add(text)
      }
      for (const action of actions) {
        if ('next' in action) {
          const choice = nextServiceAddress(ranges, ledger, { family: 4, start: action.next })
          const text = choice.kind === 'free' ? Address.format(choice.address) : undefined
          expect(text).toBe(model.next(action.next))
          if (text !== undefined) take(text)
        } else if ('named' in action) {
          const text = `10.0.0.${action.named}`
          const choice = namedServiceAddress(ranges, ledger, Address.parse(text))
          expect(choice.kind === 'free').toBe(model.has(text) && !model.inUse.has(text))
          if (choice.kind === 'free') take(text)
        } else {
          const text = [...model.inUse][action.release % Math.max(1, model.inUse.size)]
          if (text === undefined) continue
          ledger.delete(text)
          model.inUse.delete(text)
        }
      }
    }),
    { numRuns: runs(3) },
  )
})
