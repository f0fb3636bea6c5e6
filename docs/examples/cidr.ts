// The arithmetic of addresses alone: docs/guides/cidr.md shows this file, and what it prints.
import { Address, Prefix, PrefixMap, Range, RangeSet } from 'ipam-kit/cidr'
import { Nat64, ReverseName, UrlHost } from 'ipam-kit/cidr/forms'

// Parsing is strict. A failure has the text, the position and the problem.
const gateway = Address.parse('2001:DB8:0:0::0001')
console.log(Address.format(gateway))
const typo = Address.safeParse('10.0.0.256')
if (!typo.ok) console.log(typo.failure.context)

// Profiles follow Kubernetes: new fields need canonical text, and stored objects may have old forms.
const field = Prefix.safeParse('10.0.0.5/24', { profile: 'k8s-field' })
if (!field.ok) console.log(field.failure.context.suggestion)
console.log(Address.warningsFor('010.0.0.1').map((warning) => warning.message))

// Prefixes and ranges are plain values, and functions take the subject first.
const cluster = Prefix.parse('10.128.0.0/14')
console.log(Prefix.format(Prefix.subnetAt(cluster, 24, 7)), Prefix.subnetCount(cluster, 24))
console.log(Array.from(Prefix.split(Prefix.parse('10.0.0.0/30'), 31), Prefix.format))
console.log(Range.prefixes(Range.parse('10.0.0.5-10.0.0.9')).map(Prefix.format))

// A set contains both families. Sets are immutable: every operation returns a new one.
const pool = RangeSet.parse(['10.0.0.0/24', '10.0.1.5-10.0.1.9', 'fd00::/120'])
const free = RangeSet.subtract(pool, RangeSet.parse(['10.0.0.0/28', 'fd00::1']))
console.log(
  RangeSet.size(free),
  Address.format(RangeSet.at(free, 0)),
  RangeSet.contains(free, Address.parse('fd00::1')),
)
console.log(RangeSet.formatPrefixes(free))

// A route table with at most three prefixes.
const cover = RangeSet.cover(free, { maxPrefixes: 3 })
console.log(cover.prefixes.map(Prefix.format), cover.added)

// The longest prefix that covers an address.
const owners = new PrefixMap<string>().set(cluster, 'cluster').set(Prefix.parse('10.128.7.0/24'), 'node-7')
console.log(owners.lookup(Address.parse('10.128.7.9')), owners.lookup(Address.parse('10.129.0.1')))

// What an address is for, by the registries of IANA; an IPv4 address inside of an IPv6 one decides.
console.log(['10.0.0.1', '::ffff:127.0.0.1', '64:ff9b::a9fe:a9fe'].map((text) => Address.kind(Address.parse(text))))

// Rare forms have their own entry: ipam-kit/cidr/forms.
const endpoint = UrlHost.parse('https://[fd00::1]:6443/healthz')
console.log(Address.format(endpoint.address), endpoint.port, UrlHost.format(endpoint))
console.log(Prefix.format(ReverseName.parse('2.0.192.in-addr.arpa.')), ReverseName.zones(Prefix.parse('10.0.16.0/23')))
const behindNat64 = Nat64.extract(Address.parse('64:ff9b::c000:221'))
console.log(behindNat64 && Address.format(behindNat64))
