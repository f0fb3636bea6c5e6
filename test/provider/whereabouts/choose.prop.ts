import { fc, test } from '@fast-check/vitest'
import { Address, Prefix, Range } from 'ipam-kit/cidr'
import { chooseAddress, excludedAddresses, type WhereaboutsRange } from 'ipam-kit/provider/whereabouts'
import { describe, expect } from 'vitest'

/** Ranges of up to 62 usable addresses, of both families, some at the end of the lower 64 bits. */
const bases = ['10.0.0.0', '255.255.255.192', 'fd00::', 'fd00::ffff:ffff:ffff:ffc0', 'fd00::ffff:ffc0'] as const
const ranges = fc.record({
  base: fc.constantFrom(...bases),
  length: fc.integer({ min: 2, max: 6 }),
  start: fc.option(fc.nat(70), { nil: undefined }),
  end: fc.option(fc.nat(70), { nil: undefined }),
  exclude: fc.array(fc.tuple(fc.nat(63), fc.constantFrom('', '/30', '/126', '-')), { maxLength: 3 }),
  // few of many, or nearly all from the first on in any order
  taken: fc.oneof(
    fc.array(fc.nat(80), { maxLength: 80 }),
    fc.nat(64).chain((last) => fc.shuffledSubarray([...Array(last + 1).keys()], { minLength: last })),
  ),
  /** As the rows of a pool are. */
  inOrder: fc.boolean(),
  keptBack: fc.array(fc.nat(63), { maxLength: 2 }),
})

describe('the choice of an address', () => {
  test.prop([ranges])('is the lowest that a walk over all addresses finds', (given) => {
    const base = Address.parse(given.base)
    const bits = Address.bitsOf(base.family)
    const prefix = Prefix.masked(Prefix.of(base, bits - given.length))
    const size = Number(Prefix.size(prefix))
    const at = (index: number) => Prefix.addressAt(prefix, index % size)
    const beyond = (index: number) => (index < size ? Prefix.addressAt(prefix, index) : Address.parse('10.255.0.1'))
    const exclude = given.exclude.flatMap(([index, form]) => {
      const text = Address.format(at(index))
      if (form === '-') return [`${text}-${Address.format(Prefix.last(prefix))}`]
      return form === '' || (form === '/30') === (base.family === 4) ? [`${text}${form}`] : []
    })
    const range: WhereaboutsRange = {
      prefix,
      start: given.start === undefined ? undefined : beyond(given.start),
      end: given.end === undefined ? undefined : beyond(given.end),
      exclude,
    }
    const indexes = given.inOrder ? [...given.taken].sort((a, b) => a - b) : given.taken
    const taken = indexes.map((index) => (index < size ? at(index) : Address.parse(index % 2 ? '10.1.2.3' : 'fd01::')))
    const keptBack = given.keptBack.map(at)

    // the walk: index 0 and the last one are not given
    const first = given.start !== undefined && given.start >= 1 && given.start <= size - 2 ? given.start : 1
    const last = given.end !== undefined && given.end >= first && given.end <= size - 2 ? given.end : size - 2
    let lowest: string | undefined
    for (let index = first; index <= last && lowest === undefined; index++) {
      const address = Prefix.addressAt(prefix, index)
      const isOut = exclude.some((text) => Range.contains(excludedAddresses(text)!.addresses, address))
      if (!isOut && ![...taken, ...keptBack].some((one) => Address.equals(one, address)))
        lowest = Address.format(address)
    }

    const choice = chooseAddress(range, { taken, keptBack })
    expect(choice.kind === 'chosen' ? Address.format(choice.address) : undefined).toBe(lowest)
    if (choice.kind !== 'chosen') expect(choice.kind).toBe('exhausted')
  })
})
