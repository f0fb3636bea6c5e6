import type { Entry, Kind, Samples } from './samples.js'

/**
 * What is called: every public function of ipam-kit/cidr with every combination of arguments of the
 * kinds that are named here and made in samples.ts; several lists are several ways to call it. A
 * function that is public and missing here fails the test, and so does one that is here and not
 * public.
 */
export const signatures: Readonly<Record<string, readonly (readonly Kind[])[]>> = {
  'Address.add': [['address', 'index']],
  'Address.bitsOf': [['family']],
  'Address.compare': [['address', 'address']],
  'Address.distance': [['address', 'address']],
  'Address.embeddedIPv4': [['address6']],
  'Address.equals': [['address', 'address']],
  'Address.format': [['address']],
  'Address.formatZoned': [['zoned']],
  'Address.from4': [['value']],
  'Address.fromBigInt': [['family', 'big']],
  'Address.fromBytes': [['bytes']],
  'Address.goMessage': [['malformed']],
  'Address.isGloballyReachable': [['address']],
  'Address.key': [['address']],
  'Address.kind': [['address']],
  'Address.next': [['address']],
  'Address.parse': [['text']],
  'Address.parseZoned': [['text']],
  'Address.previous': [['address']],
  'Address.reverseName': [['address']],
  'Address.safeParse': [['text'], ['text', 'textOptions']],
  'Address.safeParseZoned': [['text']],
  'Address.specialPurposeOf': [['address']],
  'Address.toBigInt': [['address']],
  'Address.toBytes': [['address']],
  'Address.toMapped': [['address4']],
  'Address.unmap': [['address']],
  'Address.warningsFor': [['text']],
  'Prefix.addressAt': [['prefix', 'index']],
  'Prefix.compare': [['prefix', 'prefix']],
  'Prefix.contains': [
    ['prefix', 'address'],
    ['prefix', 'prefix'],
  ],
  'Prefix.equals': [['prefix', 'prefix']],
  'Prefix.first': [['prefix']],
  'Prefix.format': [['prefix']],
  'Prefix.fromBytes': [['bytes']],
  'Prefix.interior': [['prefix']],
  'Prefix.last': [['prefix']],
  'Prefix.masked': [['prefix']],
  'Prefix.of': [['address', 'length']],
  'Prefix.overlaps': [['prefix', 'prefix']],
  'Prefix.parent': [['prefix']],
  'Prefix.parse': [['text']],
  'Prefix.safeParse': [['text'], ['text', 'textOptions']],
  'Prefix.sibling': [['prefix']],
  'Prefix.size': [['prefix']],
  'Prefix.split': [['prefix', 'length']],
  'Prefix.subnetAt': [['prefix', 'length', 'index']],
  'Prefix.subnetCount': [['prefix', 'length']],
  'Prefix.supernet': [['prefix', 'length']],
  'Prefix.toBytes': [['prefix']],
  'Prefix.warningsFor': [['text']],
  'Range.compare': [['range', 'range']],
  'Range.contains': [['range', 'member']],
  'Range.equals': [['range', 'range']],
  'Range.format': [['range']],
  'Range.fromBytes': [['bytes']],
  'Range.fromPrefix': [['prefix']],
  'Range.intersect': [['range', 'range']],
  'Range.of': [['address', 'address']],
  'Range.overlaps': [['range', 'range']],
  'Range.parse': [['text']],
  'Range.parseInSubnet': [['text']],
  'Range.safeParse': [['text'], ['text', 'textOptions']],
  'Range.safeParseInSubnet': [['text'], ['text', 'textOptions']],
  'Range.size': [['range']],
  'Range.subtract': [['range', 'range']],
  'Range.toBytes': [['range']],
  'Range.prefixes': [['range']],
  'RangeSet.addresses': [['set']],
  'RangeSet.at': [['set', 'index']],
  'RangeSet.complement': [['set', 'block']],
  'RangeSet.contains': [
    ['set', 'member'],
    ['set', 'set'],
  ],
  'RangeSet.cover': [['set', 'coverOptions']],
  'RangeSet.decode': [['bytes']],
  'RangeSet.encode': [['set']],
  'RangeSet.equals': [['set', 'set']],
  'RangeSet.first': [['set']],
  'RangeSet.format': [['set']],
  'RangeSet.formatPrefixes': [['set']],
  'RangeSet.fromAddresses': [['addressList']],
  'RangeSet.fromPrefixes': [['prefixList']],
  'RangeSet.fromRanges': [['rangeList']],
  'RangeSet.intersect': [['set', 'set']],
  'RangeSet.isEmpty': [['set']],
  'RangeSet.last': [['set']],
  'RangeSet.overlaps': [['set', 'block']],
  'RangeSet.parse': [['texts']],
  'RangeSet.prefixes': [['set']],
  'RangeSet.random': [['set', 'seed']],
  'RangeSet.ranges': [['set']],
  'RangeSet.rank': [['set', 'address']],
  'RangeSet.safeDecode': [['bytes']],
  'RangeSet.safeParse': [['texts'], ['texts', 'textOptions']],
  'RangeSet.safeParseEntry': [['text'], ['text', 'textOptions']],
  'RangeSet.size': [['set']],
  'RangeSet.subtract': [['set', 'set']],
  'RangeSet.union': [['set', 'set']],
}

/**
 * What takes more than one call, by the name of what is exported. The result is compared.
 */
export const scripts: Readonly<Record<string, (cidr: Entry, samples: Samples) => unknown>> = {
  'RangeSet.builder': ({ RangeSet }, samples) => {
    const builder = RangeSet.builder()
    for (const [index, { value }] of samples.block.entries()) {
      if (index % 3 === 2) builder.remove(value)
      else builder.add(value)
    }
    return RangeSet.format(builder.build())
  },

  PrefixMap: ({ PrefixMap, Prefix }, samples) => {
    const map = new PrefixMap<string>()
    for (const { name, value } of samples.prefix) map.set(Prefix.masked(value), name)
    const lookups = () => samples.address.map(({ value }) => [map.lookup(value), map.longestMatch(value)])
    const around = () => samples.prefix.map(({ value }) => [[...map.covering(value)], [...map.coveredBy(value)]])
    const before = [map.size, lookups(), around(), [...map.entries()]]
    const deleted = samples.prefix.slice(0, 5).map(({ value }) => map.delete(Prefix.masked(value)))
    return [before, deleted, map.size, lookups(), around(), samples.prefix.map(({ value }) => map.get(value))]
  },
}
