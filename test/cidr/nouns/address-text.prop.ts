import { isIPv4, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { Address4, Address6 } from 'ip-address'
import { Address, Prefix } from 'ipam-kit/cidr'
import { describe, expect } from 'vitest'
import * as z from 'zod'
import { property } from '../property.js'
import { readAddress, readPrefix } from '../text-oracle.js'
import { cidr, hostile, nearly, text, text4, text6 } from '../texts.js'

const anyText = fc.oneof(text(), nearly(text()), hostile())
const anyCidr = fc.oneof(cidr(), nearly(cidr()), hostile())

describe('an address text is read as it is meant', () => {
  property([text4()], 5)('every dotted decimal is IPv4', (legal) => {
    expect(Address.parse(legal)).toEqual({ family: 4, value: Number(readAddress(legal)?.value) })
  })

  property([text6()], 20)('every spelling of RFC 4291 is IPv6', (legal) => {
    expect(meaningOf(legal)).toEqual({ family: 6, value: readAddress(legal)?.value })
  })

  property([anyText], 50)('what is accepted, and its value, is what the grammar says', (any) => {
    expect(meaningOf(any)).toEqual(readAddress(any))
  })

  property([anyText], 20)('the value is that of ip-address', (any) => {
    const meaning = meaningOf(any)
    if (meaning === undefined) return
    expect(meaning.value).toBe(meaning.family === 4 ? new Address4(any).bigInt() : new Address6(any).bigInt())
  })

  property([anyText], 20)('what is accepted is what node:net accepts', (any) => {
    fc.pre(!any.includes('%')) // node takes zones, see below
    expect(meaningOf(any)?.family ?? 0).toBe(isIPv4(any) ? 4 : isIPv6(any) ? 6 : 0)
  })

  property([anyText, fc.stringMatching(/^[0-9A-Za-z.:-]{1,20}$/)], 10)(
    'with zone `drop`, what is accepted is what node:net accepts',
    (any, zone) => {
      fc.pre(!any.includes('%')) // node refuses a zone with letters that Go and we take: it is text, not a name
      const zoned = `${any}%${zone}`
      const dropped = Address.safeParse(zoned, { zone: 'drop' })
      expect(dropped.ok).toBe(isIPv6(zoned))
      if (dropped.ok) expect(dropped.value).toEqual(Address.parse(any))
    },
  )

  property([anyText], 20)('what is accepted is what zod accepts', (any) => {
    const family = z.ipv4().safeParse(any).success ? 4 : z.ipv6().safeParse(any).success ? 6 : 0
    expect(meaningOf(any)?.family ?? 0).toBe(family)
  })
})

describe('a CIDR is read as it is meant', () => {
  property([anyCidr], 30)('what is accepted, and its value, is what the grammar says', (any) => {
    const parsed = Prefix.safeParse(any)
    const { address, length } = parsed.ok ? parsed.value : { address: undefined, length: 0 }
    const meaning = address && { family: address.family, value: Address.toBigInt(address), length }
    expect(meaning).toEqual(readPrefix(any))
  })

  property([anyCidr], 20)('what is accepted is what zod accepts', (any) => {
    fc.pre(!/\/[0-9]+\.[0-9]+$/.test(any)) // zod reads the length with Number(): `::/1.5` passes as a CIDR
    const family = z.cidrv4().safeParse(any).success ? 4 : z.cidrv6().safeParse(any).success ? 6 : 0
    const parsed = Prefix.safeParse(any)
    expect(parsed.ok ? parsed.value.address.family : 0).toBe(family)
  })
})

describe('a refusal', () => {
  property([anyText], 20)('has a position inside the text, or at its end, and a problem', (any) => {
    const parsed = Address.safeParse(any)
    if (parsed.ok) return
    const { text, position, problem } = parsed.failure.context
    expect(text).toBe(any)
    expect(position).toBeGreaterThanOrEqual(0)
    expect(position).toBeLessThanOrEqual(any.length)
    expect(problem).not.toBe('')
  })

  property([anyText], 20)('stands no further on than the first character that no address has', (any) => {
    fc.pre(!any.includes('%')) // a zone is refused before the rest is looked at
    const first = any.search(/[^0-9a-fA-F.:]/)
    const parsed = Address.safeParse(any)
    fc.pre(!parsed.ok && first >= 0)
    if (!parsed.ok) expect(parsed.failure.context.position).toBeLessThanOrEqual(first)
  })
})

function meaningOf(text: string) {
  const parsed = Address.safeParse(text)
  return parsed.ok ? { family: parsed.value.family, value: Address.toBigInt(parsed.value) } : undefined
}
