import { parseCidr } from 'cidr-tools'
import { Address4 as IpAddress4, Address6 as IpAddress6 } from 'ip-address'
import { parseIp, stringifyIp } from 'ip-bigint'
import { IPv4 as IpNumIPv4 } from 'ip-num'
import ipaddr from 'ipaddr.js'
import { ip2long, Netmask } from 'netmask'
import * as corpora from '../corpora.js'
import { each, ending, hashOf, type Side, sum, type Work } from '../harness.js'
import { ours } from '../ours.js'

// The family is named wherever a peer has a function for it: finding it out costs some of them
// several times the parsing.

export const textWorks: readonly Work[] = [
  {
    name: 'parse IPv4',
    ours: ours['parse IPv4'],
    peers: {
      'ip-bigint': () => parse(corpora.addresses4(), parseIp, ({ number }) => number),
      'ipaddr.js': () => parse(corpora.addresses4(), (text) => ipaddr.IPv4.parse(text), numberOf),
      'ip-address': () =>
        parse(
          corpora.addresses4(),
          (text) => new IpAddress4(text),
          (address) => address.bigInt(),
        ),
      netmask: () => parse(corpora.addresses4(), ip2long, BigInt),
      'ip-num': () =>
        parse(
          corpora.addresses4(),
          (text) => new IpNumIPv4(text),
          (address) => address.value,
        ),
    },
  },
  {
    name: 'parse IPv6',
    ours: ours['parse IPv6'],
    peers: {
      'ip-bigint': () => parse(corpora.addresses6(), parseIp, ({ number }) => number),
      'ipaddr.js': () => parse(corpora.addresses6(), (text) => ipaddr.IPv6.parse(text), numberOf),
      'ip-address': () =>
        parse(
          corpora.addresses6(),
          (text) => new IpAddress6(text),
          (address) => address.bigInt(),
        ),
    },
  },
  {
    name: 'format IPv4',
    ours: ours['format IPv4'],
    peers: {
      'ip-bigint': () => format(corpora.addresses4(), parseIp, (address) => stringifyIp(address)),
      'ipaddr.js': () =>
        format(
          corpora.addresses4(),
          (text) => ipaddr.IPv4.parse(text),
          (address) => address.toString(),
        ),
    },
  },
  {
    name: 'format IPv6',
    ours: ours['format IPv6'],
    peers: {
      'ip-bigint': () => format(corpora.addresses6(), parseIp, (address) => stringifyIp(address)),
      'ipaddr.js': () =>
        format(
          corpora.addresses6(),
          (text) => ipaddr.IPv6.parse(text),
          (address) => address.toRFC5952String(),
        ),
      'ip-address': () =>
        format(
          corpora.addresses6(),
          (text) => new IpAddress6(text),
          (address) => address.correctForm(),
        ),
    },
  },
  {
    name: 'parse IPv4 prefix',
    ours: ours['parse IPv4 prefix'],
    peers: {
      'cidr-tools': () => parsePrefix(corpora.someOf(corpora.prefixes4()), parseCidr, cidrToolsParts),
      'ipaddr.js': () =>
        parsePrefix(
          corpora.someOf(corpora.prefixes4()),
          (text) => ipaddr.IPv4.parseCIDR(text),
          ([address, length]) => [numberOf(address), length],
        ),
      netmask: () =>
        parsePrefix(
          corpora.someOf(corpora.prefixes4()),
          (text) => new Netmask(text),
          ({ base, bitmask }) => [BigInt(ip2long(base)), bitmask],
        ),
    },
  },
  {
    name: 'parse IPv6 prefix',
    ours: ours['parse IPv6 prefix'],
    peers: {
      'cidr-tools': () => parsePrefix(corpora.someOf(corpora.prefixes6()), parseCidr, cidrToolsParts),
      'ipaddr.js': () =>
        parsePrefix(
          corpora.someOf(corpora.prefixes6()),
          (text) => ipaddr.IPv6.parseCIDR(text),
          ([address, length]) => [numberOf(address), length],
        ),
    },
  },
]

function parse<T>(texts: readonly string[], read: (text: string) => T, numberIn: (address: T) => bigint): Side {
  return {
    run: each(texts, read),
    operations: texts.length,
    answer: sum(texts, (text) => sumOfWords(numberIn(read(text)))),
  }
}

function format<T>(texts: readonly string[], read: (text: string) => T, write: (address: T) => string): Side {
  const addresses = texts.map(read)
  return {
    run: sum(addresses, (address) => ending(write(address))),
    operations: texts.length,
    answer: () => hashOf(addresses.map(write)),
  }
}

function parsePrefix<T>(texts: readonly string[], read: (text: string) => T, partsOf: (prefix: T) => Parts): Side {
  return {
    run: each(texts, read),
    operations: texts.length,
    answer: sum(texts, (text) => {
      const [address, length] = partsOf(read(text))
      return sumOfWords(address) + length
    }),
  }
}

/** The value of the address, and the length. */
type Parts = readonly [bigint, number]

function cidrToolsParts({ start, prefix }: ReturnType<typeof parseCidr>): Parts {
  return [start, Number(prefix)]
}

function numberOf(address: ipaddr.IPv4 | ipaddr.IPv6): bigint {
  return address.toByteArray().reduce((value, byte) => (value << 8n) | BigInt(byte), 0n)
}

function sumOfWords(value: bigint): number {
  return value === 0n ? 0 : Number(value & 0xffffffffn) + sumOfWords(value >> 32n)
}
