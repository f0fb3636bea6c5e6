import { BlockList } from 'node:net'
import { excludeCidr, mergeCidr } from 'cidr-tools'
import { merge } from 'fast-cidr-tools'
import { Address, RangeSet } from 'ipam-kit/cidr'
import { exceptions4, prefixes4, probes4 } from '../corpora.js'
import type { Row } from '../harness.js'

export const cidrSets: readonly Row[] = [
  {
    name: 'merge 100,000 IPv4 prefixes, text to text',
    setUp: () => {
      const texts = prefixes4(100_000)
      return {
        ours: { operations: texts.length, work: () => RangeSet.formatPrefixes(RangeSet.parse(texts)) },
        peers: { 'cidr-tools': { operations: texts.length, work: () => mergeCidr(texts) } },
      }
    },
  },
  {
    name: 'merge 10,000 IPv4 prefixes, text to text',
    setUp: () => {
      const texts = prefixes4(10_000)
      return {
        ours: { operations: texts.length, work: () => RangeSet.formatPrefixes(RangeSet.parse(texts)) },
        peers: { 'fast-cidr-tools': { operations: texts.length, work: () => merge(texts) } },
      }
    },
  },
  {
    name: 'subtract 100 IPv4 prefixes from 1,000, text to text',
    setUp: () => {
      const base = prefixes4(1000)
      const except = exceptions4(base, 100)
      return {
        ours: {
          operations: base.length,
          work: () => RangeSet.formatPrefixes(RangeSet.subtract(RangeSet.parse(base), RangeSet.parse(except))),
        },
        peers: { 'cidr-tools': { operations: base.length, work: () => excludeCidr(base, except) } },
      }
    },
  },
  {
    name: 'contains, 1,000 IPv4 prefixes, address text',
    setUp: () => {
      const prefixes = prefixes4(1000)
      const probes = probes4(prefixes)
      const set = RangeSet.parse(prefixes)
      const list = blockListOf(prefixes)
      return {
        ours: {
          operations: probes.length,
          work: () => {
            let hits = 0
            for (const text of probes) if (RangeSet.contains(set, Address.parse(text))) hits++
            return hits
          },
        },
        peers: {
          'net.BlockList': {
            operations: probes.length,
            work: () => {
              let hits = 0
              for (const text of probes) if (list.check(text)) hits++
              return hits
            },
          },
        },
      }
    },
  },
]

function blockListOf(prefixes: readonly string[]): BlockList {
  const list = new BlockList()
  for (const prefix of prefixes) {
    const [address, length] = prefix.split('/') as [string, string]
    list.addSubnet(address, Number(length))
  }
  return list
}
