import { parseCidr } from 'cidr-tools'
import { Address4 as PeerAddress4, Address6 as PeerAddress6 } from 'ip-address'
import { parseIp, stringifyIp } from 'ip-bigint'
import { IPv4 as NumIPv4 } from 'ip-num'
import ipaddr from 'ipaddr.js'
import { Address, Prefix } from 'ipam-kit/cidr'
import { Netmask } from 'netmask'
import { addresses4, addresses6, prefixes4, prefixes6 } from '../corpora.js'
import type { Row, Side } from '../harness.js'

const TEXTS = 4096

// Each side has its own loop, as a caller would write it: one loop for all would call every library through the same slow call.

const side = (work: () => unknown): Side => ({ operations: TEXTS, work })

/** Reading the last character joins a text that is only a plan to join pieces: what it costs is part of the formatting. */
const lastChar = (text: string) => text.charCodeAt(text.length - 1)

export const cidrText: readonly Row[] = [
  { name: 'parse IPv4', setUp: parse4 },
  { name: 'parse IPv6', setUp: parse6 },
  { name: 'format IPv4', setUp: format4 },
  { name: 'format IPv6 (RFC 5952)', setUp: format6 },
  { name: 'parse an IPv4 prefix', setUp: parsePrefix4 },
  { name: 'parse an IPv6 prefix', setUp: parsePrefix6 },
]

function parse4() {
  const texts = addresses4(TEXTS)
  return {
    ours: side(() => {
      let last: unknown
      for (const text of texts) last = Address.parse(text)
      return last
    }),
    peers: {
      'ip-bigint': side(() => {
        let last: unknown
        for (const text of texts) last = parseIp(text)
        return last
      }),
      'ipaddr.js': side(() => {
        let last: unknown
        for (const text of texts) last = ipaddr.IPv4.parse(text)
        return last
      }),
      'ip-address': side(() => {
        let last: unknown
        for (const text of texts) last = new PeerAddress4(text)
        return last
      }),
      'ip-num': side(() => {
        let last: unknown
        for (const text of texts) last = NumIPv4.fromString(text)
        return last
      }),
    },
  }
}

function parse6() {
  const texts = addresses6(TEXTS)
  return {
    ours: side(() => {
      let last: unknown
      for (const text of texts) last = Address.parse(text)
      return last
    }),
    peers: {
      'ip-bigint': side(() => {
        let last: unknown
        for (const text of texts) last = parseIp(text)
        return last
      }),
      'ipaddr.js': side(() => {
        let last: unknown
        for (const text of texts) last = ipaddr.IPv6.parse(text)
        return last
      }),
      'ip-address': side(() => {
        let last: unknown
        for (const text of texts) last = new PeerAddress6(text)
        return last
      }),
    },
  }
}

function format4() {
  const texts = addresses4(TEXTS)
  const ours = texts.map((text) => Address.parse(text))
  const bigint = texts.map((text) => parseIp(text))
  const ipaddrs = texts.map((text) => ipaddr.IPv4.parse(text))
  return {
    ours: side(() => {
      let sum = 0
      for (const address of ours) sum += lastChar(Address.format(address))
      return sum
    }),
    peers: {
      'ip-bigint': side(() => {
        let sum = 0
        for (const address of bigint) sum += lastChar(stringifyIp(address))
        return sum
      }),
      'ipaddr.js': side(() => {
        let sum = 0
        for (const address of ipaddrs) sum += lastChar(address.toString())
        return sum
      }),
    },
  }
}

function format6() {
  const texts = addresses6(TEXTS)
  const ours = texts.map((text) => Address.parse(text))
  const bigint = texts.map((text) => parseIp(text))
  const ipaddrs = texts.map((text) => ipaddr.IPv6.parse(text))
  const objects = texts.map((text) => new PeerAddress6(text))
  return {
    ours: side(() => {
      let sum = 0
      for (const address of ours) sum += lastChar(Address.format(address))
      return sum
    }),
    peers: {
      'ip-bigint': side(() => {
        let sum = 0
        for (const address of bigint) sum += lastChar(stringifyIp(address))
        return sum
      }),
      'ipaddr.js': side(() => {
        let sum = 0
        for (const address of ipaddrs) sum += lastChar(address.toRFC5952String())
        return sum
      }),
      'ip-address': side(() => {
        let sum = 0
        for (const address of objects) sum += lastChar(address.correctForm())
        return sum
      }),
    },
  }
}

function parsePrefix4() {
  const texts = prefixes4(TEXTS)
  return {
    ours: side(() => {
      let last: unknown
      for (const text of texts) last = Prefix.parse(text)
      return last
    }),
    peers: {
      'cidr-tools': side(() => {
        let last: unknown
        for (const text of texts) last = parseCidr(text)
        return last
      }),
      'ipaddr.js': side(() => {
        let last: unknown
        for (const text of texts) last = ipaddr.IPv4.parseCIDR(text)
        return last
      }),
      netmask: side(() => {
        let last: unknown
        for (const text of texts) last = new Netmask(text)
        return last
      }),
    },
  }
}

function parsePrefix6() {
  const texts = prefixes6(TEXTS)
  return {
    ours: side(() => {
      let last: unknown
      for (const text of texts) last = Prefix.parse(text)
      return last
    }),
    peers: {
      'cidr-tools': side(() => {
        let last: unknown
        for (const text of texts) last = parseCidr(text)
        return last
      }),
      'ipaddr.js': side(() => {
        let last: unknown
        for (const text of texts) last = ipaddr.IPv6.parseCIDR(text)
        return last
      }),
    },
  }
}
