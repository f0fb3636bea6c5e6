import { Address, AddressPool, RangeSet } from 'ipam-kit'

const ranges = RangeSet.parse(['10.20.0.0/24'])
const reserved = RangeSet.parse(['10.20.0.0/28', '10.20.0.255'])
const pool = new AddressPool({ ranges, reserved })

const outcome = pool.allocate({ owner: { uid: 'printer-1' } })
if (outcome.kind === 'allocated') console.log(Address.format(outcome.address)) // 10.20.0.16
console.log(pool.counts().free) // 238n

pool.releaseOwner('printer-1')
console.log(pool.counts().free) // 239n
