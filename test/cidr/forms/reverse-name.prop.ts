import fc from 'fast-check'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { ReverseName } from 'ipam-kit/cidr/forms'
import { address, prefix } from 'ipam-kit/testing/arbitraries'
import { describe, expect } from 'vitest'
import { property } from '../property.js'
import { hostile, nearly } from '../texts.js'

/** The grammar a second time, with `split`, regular expressions and BigInt. */
function model(text: string): { family: 4 | 6; value: bigint; length: number } | undefined {
  const [, head, domain] = /^((?:[^.]+\.)*)(in-addr|ip6)\.arpa\.?$/i.exec(text) ?? []
  if (head === undefined || domain === undefined) return undefined
  const labels = head.split('.').slice(0, -1).reverse()
  const is4 = domain.toLowerCase() === 'in-addr'
  const isLabel = (label: string) =>
    is4 ? /^(0|[1-9][0-9]{0,2})$/.test(label) && Number(label) <= 255 : /^[0-9a-fA-F]$/.test(label)
  if (labels.length > (is4 ? 4 : 32) || !labels.every(isLabel)) return undefined
  const bits = is4 ? 8 : 4
  const value = labels.reduce((sum, label) => (sum << BigInt(bits)) | BigInt(is4 ? label : `0x${label}`), 0n)
  const length = labels.length * bits
  return { family: is4 ? 4 : 6, value: value << BigInt((is4 ? 32 : 128) - length), length }
}

/** Names of addresses and zones in any case, with and without the final dot. */
function name(): fc.Arbitrary<string> {
  const label4 = fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 9, 10, 99, 100, 255, 256, 999)).map(String)
  const label6 = fc.nat(15).map((nibble) => nibble.toString(16))
  const of = (label: fc.Arbitrary<string>, maxLength: number, domain: string) =>
    fc
      .tuple(
        fc.oneof(fc.array(label, { maxLength }), fc.array(label, { minLength: maxLength, maxLength })),
        fc.constantFrom('', '.'),
      )
      .map(([labels, dot]) => [...labels, domain].join('.') + dot)
  return fc.mixedCase(fc.oneof(of(label4, 4, 'in-addr.arpa'), of(label6, 32, 'ip6.arpa')))
}

function checkAgainstModel(text: string): void {
  const parsed = ReverseName.safeParse(text)
  const meaning = parsed.ok
    ? {
        family: parsed.value.address.family,
        value: Address.toBigInt(parsed.value.address),
        length: parsed.value.length,
      }
    : undefined
  expect(meaning).toEqual(model(text))
  if (parsed.ok) return
  const { position, problem } = parsed.failure.context
  expect(problem).not.toBe('')
  expect(position).toBeGreaterThanOrEqual(0)
  expect(position).toBeLessThanOrEqual(text.length)
}

describe('a name stands for the prefix that the model says', () => {
  property([name()], 10)('if it is a name', checkAgainstModel)
  property([nearly(name())], 20)('if it is nearly one', checkAgainstModel)
  property([fc.tuple(hostile(), fc.constantFrom('.in-addr.arpa', '.ip6.arpa', 'ip6.arpa.'))], 10)(
    'if it only ends like one',
    ([head, tail]) => checkAgainstModel(head + tail),
  )
  property([hostile()], 5)('if it is anything else', checkAgainstModel)
})

property([address()], 10)('the full name of an address reads back as the address', (any) => {
  const whole = Prefix.of(any, Address.bitsOf(any.family))
  expect(ReverseName.parse(Address.reverseName(any))).toEqual(whole)
  expect(ReverseName.format(whole)).toBe(Address.reverseName(any))
})

property([prefix()], 10)('the zones of a prefix make it up, in order and without overlap', (any) => {
  const names = ReverseName.zones(any)
  const zones = names.map(ReverseName.parse)
  expect(RangeSet.equals(RangeSet.fromPrefixes(zones), RangeSet.fromPrefixes([Prefix.masked(any)]))).toBe(true)
  expect(zones.reduce((sum, zone) => sum + Prefix.size(zone), 0n)).toBe(Prefix.size(any))
  expect(zones).toEqual([...zones].sort(Prefix.compare))
  for (const zone of zones) {
    expect(names).toContain(ReverseName.format(zone))
    // every address of a zone has its name below that of the zone
    expect(Address.reverseName(Prefix.last(zone)).endsWith(ReverseName.format(zone))).toBe(true)
  }
})
