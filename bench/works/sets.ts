import { BlockList } from 'node:net'
import { containsCidr, excludeCidr, mergeCidr } from 'cidr-tools'
import { exclude, merge } from 'fast-cidr-tools'
import { Address, RangeSet } from 'ipam-kit/cidr'
import * as corpora from '../corpora.js'
import { type Side, sum, type Work } from '../harness.js'

// The libraries of JavaScript take and give text, so these comparisons go from text to text.

export const setWorks: readonly Work[] = [
  {
    name: 'merge 100,000 IPv4 prefixes, text to text',
    ours: () => mergeSide(corpora.prefixes4(), ourMerge),
    peers: {
      'cidr-tools': () => mergeSide(corpora.prefixes4(), (texts) => mergeCidr([...texts])),
      'fast-cidr-tools': () => mergeSide(corpora.prefixes4(), (texts) => merge([...texts])),
    },
  },
  {
    name: 'merge 100,000 IPv6 prefixes, text to text',
    ours: () => mergeSide(corpora.prefixes6(), ourMerge),
    peers: { 'cidr-tools': () => mergeSide(corpora.prefixes6(), (texts) => mergeCidr([...texts])) },
  },
  {
    name: 'subtract 100 IPv4 prefixes from 1,000, text to text',
    ours: () =>
      subtractSide((base, taken) =>
        RangeSet.formatPrefixes(RangeSet.subtract(RangeSet.parse(base), RangeSet.parse(taken))),
      ),
    peers: {
      'cidr-tools': () => subtractSide((base, taken) => excludeCidr([...base], [...taken])),
      'fast-cidr-tools': () => subtractSide((base, taken) => exclude([...base], [...taken])),
    },
  },
  {
    name: 'contains, 1,000 IPv4 prefixes, address as text',
    ours: () => {
      const set = RangeSet.parse(corpora.few4())
      return containsSide((text) => RangeSet.contains(set, Address.parse(text)))
    },
    peers: {
      'node:net BlockList': () => {
        const list = new BlockList()
        for (const text of corpora.few4()) {
          const [address, length] = text.split('/') as [string, string]
          list.addSubnet(address, Number(length), 'ipv4')
        }
        return containsSide((text) => list.check(text, 'ipv4'), BLOCK_LIST_SHARE)
      },
      'cidr-tools': () => {
        const set = [...corpora.few4()]
        return containsSide((text) => containsCidr(set, text), CIDR_TOOLS_SHARE)
      },
    },
  },
]

/** A slow peer gets the first of the probes only. */
const BLOCK_LIST_SHARE = 1 / 8
const CIDR_TOOLS_SHARE = 1 / 128
/** Of so many every side says which are in the set. */
const ANSWERED_SHARE = 1 / 8

function ourMerge(texts: readonly string[]): string[] {
  return RangeSet.formatPrefixes(RangeSet.parse(texts))
}

function mergeSide(texts: readonly string[], work: (texts: readonly string[]) => string[]): Side {
  const run = () => work(texts)
  return { run, operations: texts.length, answer: () => run().sort() }
}

function subtractSide(work: (base: readonly string[], taken: readonly string[]) => string[]): Side {
  const run = () => work(corpora.few4(), corpora.fewTaken4())
  return { run, operations: corpora.SMALL, answer: () => run().sort() }
}

function containsSide(contains: (text: string) => boolean, share = 1): Side {
  const probes = corpora.fewProbes4()
  const some = probes.slice(0, probes.length * share)
  return {
    run: sum(some, (text) => (contains(text) ? 1 : 0)),
    operations: some.length,
    answer: () => probes.slice(0, probes.length * ANSWERED_SHARE).filter(contains),
  }
}
