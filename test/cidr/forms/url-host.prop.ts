import fc from 'fast-check'
import { Address } from 'ipam-kit/cidr'
import { UrlHost } from 'ipam-kit/cidr/forms'
import { address } from 'ipam-kit/testing/arbitraries'
import { describe, expect } from 'vitest'
import { property } from '../property.js'
import { readAddress } from '../text-oracle.js'
import { hostile, nearly, text4, text6 } from '../texts.js'

interface Meaning {
  readonly family: 4 | 6
  readonly value: bigint
  readonly zone: string | undefined
  readonly port: number | undefined
}

/**
 * RFC 3986 and RFC 6874 as one regular expression: a scheme and what follows the host, or neither.
 */
const GRAMMAR =
  /^(?:([a-z][a-z0-9+.-]{0,63}):\/\/)?(?:([0-9.]+)|\[([0-9a-f:.]+)(?:%25((?:[a-z0-9._~-]|%[0-9a-f]{2})+))?\])(?::(0|[1-9][0-9]{0,4}))?([/?#].*)?$/is

function model(text: string): Meaning | undefined {
  const [whole, scheme, four, six, escaped, port, tail] = GRAMMAR.exec(text) ?? []
  if (whole === undefined || (scheme === undefined && tail !== undefined) || Number(port ?? 0) > 65535) return undefined
  const meaning = readAddress(four ?? (six as string))
  if (meaning?.family !== (four === undefined ? 6 : 4)) return undefined
  const zone = escaped?.replace(/%(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  if (zone !== undefined && !/^[\w.~!$&'()*+,;=: %-]{1,64}$/.test(zone)) return undefined
  return { ...meaning, zone, port: port === undefined ? undefined : Number(port) }
}

function checkAgainstModel(text: string): void {
  const parsed = UrlHost.safeParse(text)
  const meaning = parsed.ok
    ? {
        family: parsed.value.address.family,
        value: Address.toBigInt(parsed.value.address),
        zone: parsed.value.zone,
        port: parsed.value.port,
      }
    : undefined
  expect(meaning).toEqual(model(text))
  if (parsed.ok) return
  const { position, problem, name } = parsed.failure.context
  expect(problem).not.toBe('')
  expect(position).toBeGreaterThanOrEqual(0)
  expect(position).toBeLessThanOrEqual(text.length)
  if (name !== undefined) expect(text.slice(position, position + name.length)).toBe(name)
}

/** Zones that a URL takes. */
function zone(): fc.Arbitrary<string> {
  const signs = "-._~!$&'()*+,;=: %"
  return fc.string({
    unit: fc.constantFrom(...'abcxyzABCXYZ0189', ...signs),
    minLength: 1,
    maxLength: 64,
  })
}

function port(): fc.Arbitrary<number> {
  return fc.oneof(fc.nat(65535), fc.constantFrom(0, 80, 443, 6443, 65535))
}

/** Endpoints and URLs in every spelling; most of them legal. */
function host(): fc.Arbitrary<string> {
  const escapedZone = zone().map((text) => `%25${encodeURIComponent(text)}`)
  const literal = fc
    .tuple(text6(), fc.oneof(fc.constant(''), escapedZone, fc.constantFrom('%25', '%eth0', '%25a%2Fb', '%25%ff')))
    .map(([text, tail]) => `[${text}${tail}]`)
  const ports = fc.oneof(
    fc.constant(''),
    port().map((number) => `:${number}`),
    fc.constantFrom(':', ':080', ':65536', ':99999', ':100000', ':-1', ':8a'),
  )
  const ends = fc.constantFrom(
    ['', ''],
    ['', ''],
    ['https://', ''],
    ['http://', '/'],
    ['a+b-c.1://', '?q'],
    ['x://', '#/@'],
    ['', '/'],
  )
  return fc
    .tuple(ends, fc.oneof(text4(), literal), ports)
    .map(([[scheme, tail], text, colonAndPort]) => `${scheme}${text}${colonAndPort}${tail}`)
}

describe('a text is the host that the model says', () => {
  property([host()], 10)('if it is an endpoint or a URL', checkAgainstModel)
  property([nearly(host())], 20)('if it is nearly one', checkAgainstModel)
  property([fc.tuple(fc.constantFrom('', 'https://', '['), hostile())], 10)('if it is anything else', ([head, tail]) =>
    checkAgainstModel(head + tail),
  )
})

property([address(), fc.option(zone(), { nil: undefined }), fc.option(port(), { nil: undefined })], 10)(
  'what is written reads back',
  (any, someZone, somePort) => {
    const written = {
      address: any,
      ...(someZone === undefined || any.family === 4 ? {} : { zone: someZone }),
      ...(somePort === undefined ? {} : { port: somePort }),
    }
    const text = UrlHost.format(written)
    expect(UrlHost.parse(text)).toStrictEqual(written)
    expect(UrlHost.parse(`https://${text}/path`)).toStrictEqual(written)
    expect(text).toMatch(/^[\x21-\x7e]+$/)
  },
)

property([nearly(host())], 10)('what is read of a URL without a zone is what browsers read', (text) => {
  const url = `http://${text.replace(/^[^/]*:\/\//, '')}`
  const parsed = UrlHost.safeParse(url)
  if (!parsed.ok || parsed.value.zone !== undefined) return
  const { hostname, port: written } = new URL(url)
  const plain = hostname.replace(/^\[|\]$/g, '')
  expect(Address.parse(plain)).toEqual(parsed.value.address)
  // the URL does not repeat the port of its scheme
  expect(written === '' ? (parsed.value.port ?? 80) : Number(written)).toBe(parsed.value.port ?? 80)
})
