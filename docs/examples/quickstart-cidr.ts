import { Address, Prefix, RangeSet } from 'ipam-kit'

const subnet = Prefix.parse('10.20.0.0/24')
console.log(Prefix.contains(subnet, Address.parse('10.20.0.9'))) // true

const used = RangeSet.parse(['10.20.0.0/28', '10.20.0.255'])
const free = RangeSet.subtract(RangeSet.fromPrefixes([subnet]), used)
console.log(RangeSet.size(free)) // 239n
console.log(RangeSet.format(free).join(', ')) // 10.20.0.16-10.20.0.254
