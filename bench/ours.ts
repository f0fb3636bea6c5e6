// Our side of the comparisons with other address libraries, of this language and of others: the public API, as a caller has it.
import { Address, Prefix, PrefixMap, type Prefix as PrefixValue, RangeSet } from 'ipam-kit/cidr'
import * as corpora from './corpora.js'
import { each, ending, hashOf, type Side, sum } from './harness.js'
import { oursOfAllocators } from './ours-allocators.js'

/** What is measured, by the name of the work. `answer` is a number that a program in another language can print too. */
export const ours = {
  'parse IPv4': () => parse(corpora.addresses4()),
  'parse IPv6': () => parse(corpora.addresses6()),
  'format IPv4': () => format(corpora.addresses4()),
  'format IPv6': () => format(corpora.addresses6()),
  'parse IPv4 prefix': () => parsePrefix(corpora.someOf(corpora.prefixes4())),
  'parse IPv6 prefix': () => parsePrefix(corpora.someOf(corpora.prefixes6())),

  'merge 100,000 IPv4 prefixes': () => merge(corpora.prefixes4()),
  'merge 100,000 IPv6 prefixes': () => merge(corpora.prefixes6()),
  'merge 100,000 IPv4 prefixes, then 65,536 lookups': () => mergeAndLook(corpora.prefixes4(), corpora.probes4()),
  'merge 100,000 IPv6 prefixes, then 65,536 lookups': () => mergeAndLook(corpora.prefixes6(), corpora.probes6()),
  'subtract 10,000 IPv4 prefixes from 100,000': () => {
    const base = corpora.parsedSet(corpora.prefixes4())
    const taken = corpora.parsedSet(corpora.taken4())
    const run = () => RangeSet.subtract(base, taken)
    return { run, operations: corpora.LARGE, answer: () => countOf(run()) }
  },
  'contains, 100,000 IPv4 prefixes': () => contains(corpora.prefixes4(), corpora.probes4()),
  'contains, 100,000 IPv6 prefixes': () => contains(corpora.prefixes6(), corpora.probes6()),
  'longest match, value, 100,000 IPv4 prefixes': () => {
    const map = mapOf(corpora.prefixes4())
    return looked(corpora.probes4(), (address) => map.lookup(address) ?? 0)
  },
  'longest match, prefix and value, 100,000 IPv4 prefixes': () => {
    const map = mapOf(corpora.prefixes4())
    return looked(corpora.probes4(), (address) => {
      const found = map.longestMatch(address)
      return found === undefined ? 0 : found.value + found.prefix.length
    })
  },

  ...oursOfAllocators,
} satisfies Record<string, () => Side>

/** A map from each prefix of a list to its place in the list, counted from 1; of equal prefixes the last. */
const mapOf = corpora.once((texts: readonly string[]) => {
  const map = new PrefixMap<number>()
  for (const [index, prefix] of corpora.parsedPrefixes(texts).entries()) map.set(prefix, index + 1)
  return map
})

function parse(texts: readonly string[]): Side {
  return {
    run: each(texts, Address.parse),
    operations: texts.length,
    answer: sum(texts, (text) => wordsOf(Address.parse(text))),
  }
}

function format(texts: readonly string[]): Side {
  const addresses = corpora.parsedAddresses(texts)
  return {
    run: sum(addresses, (address) => ending(Address.format(address))),
    operations: texts.length,
    answer: () => hashOf(addresses.map(Address.format)),
  }
}

function parsePrefix(texts: readonly string[]): Side {
  return {
    run: each(texts, Prefix.parse),
    operations: texts.length,
    answer: sum(texts, (text) => {
      const { address, length } = Prefix.parse(text)
      return wordsOf(address) + length
    }),
  }
}

function merge(texts: readonly string[]): Side {
  const prefixes: readonly PrefixValue[] = corpora.parsedPrefixes(texts)
  const run = () => RangeSet.fromPrefixes(prefixes)
  return { run, operations: texts.length, answer: () => countOf(run()) }
}

/** All that a set costs that is made, asked and dropped: nothing has been built before. */
function mergeAndLook(texts: readonly string[], probes: readonly string[]): Side {
  const prefixes: readonly PrefixValue[] = corpora.parsedPrefixes(texts)
  let set = RangeSet.empty
  const look = sum(corpora.parsedAddresses(probes), (address) => (RangeSet.contains(set, address) ? 1 : 0))
  const run = () => {
    set = RangeSet.fromPrefixes(prefixes)
    return look()
  }
  return { run, operations: 1, answer: run }
}

/** The number of addresses of an IPv4 set. Those of an IPv6 set are too many: the words of its ends are added up. */
function countOf(set: RangeSet): number {
  let sum = 0
  for (const { first, last } of RangeSet.ranges(set)) {
    sum += first.family === 4 ? wordsOf(last) - first.value + 1 : wordsOf(first) + wordsOf(last)
  }
  return sum
}

function contains(texts: readonly string[], probes: readonly string[]): Side {
  const set = corpora.parsedSet(texts)
  return looked(probes, (address) => (RangeSet.contains(set, address) ? 1 : 0))
}

function looked(probes: readonly string[], lookup: (address: Address) => number): Side {
  const run = sum(corpora.parsedAddresses(probes), lookup)
  return { run, operations: probes.length, answer: run }
}

function wordsOf(address: Address): number {
  return address.family === 4 ? address.value : address.w0 + address.w1 + address.w2 + address.w3
}
