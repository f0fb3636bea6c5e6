import { fc, test } from '@fast-check/vitest'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { poolSpace } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import { rangeSpace } from 'ipam-kit/provider/whereabouts'
import { type BlockNetwork, poolsOf, readBlockNetwork } from 'ipam-kit/provider/whereabouts-blocks'
import { describe, expect } from 'vitest'
import { runs } from '../../setup/depth.js'
import { World } from './world.js'

const bases = ['10.0.0.0', '10.0.0.64', '255.255.255.192', 'fd00::', 'fd00::ffff:ffc0'] as const

/** A range of up to 62 usable addresses, with bounds and excludes in and beside it. */
const ranges = fc
  .record({
    base: fc.constantFrom(...bases),
    size: fc.integer({ min: 2, max: 6 }),
    start: fc.option(fc.nat(63), { nil: undefined }),
    end: fc.option(fc.nat(63), { nil: undefined }),
    exclude: fc.array(fc.tuple(fc.nat(63), fc.constantFrom('', 'subnet', 'range')), { maxLength: 3 }),
    gateway: fc.option(fc.nat(63), { nil: undefined }),
  })
  .map(({ base, size, start, end, exclude, gateway }) => {
    const first = Address.parse(base)
    const bits = Address.bitsOf(first.family)
    const prefix = Prefix.masked(Prefix.of(first, bits - size))
    const at = (index: number) => Address.format(Prefix.addressAt(prefix, index % 2 ** size))
    return {
      range: Prefix.format(prefix),
      range_start: start === undefined ? undefined : at(start),
      range_end: end === undefined ? undefined : at(end),
      exclude: exclude.map(([index, form]) => {
        if (form === 'subnet') return `${at(index)}/${bits - 2}`
        return form === '' ? at(index) : `${at(index)}-${Address.format(Prefix.last(prefix))}`
      }),
      gateway: gateway === undefined ? undefined : at(gateway),
    }
  })

const flags = fc.record({
  network_name: fc.option(fc.constantFrom('blue', 'red'), { nil: undefined }),
  enable_overlapping_ranges: fc.option(fc.boolean(), { nil: undefined }),
})

/** The network of an IPAM part, if it is one. */
function read(ipam: object): BlockNetwork | undefined {
  const result = readBlockNetwork({ cniVersion: '1.0.0', name: 'lab', ipam: { type: 'ipam-kit', ...ipam } })
  return result.ok ? result.value : undefined
}

describe('the pool of a range', () => {
  test.prop([ranges, flags])('gives what chooseAddress gives of the range, and nothing else', (range, more) => {
    const network = read({ ...range, ...more })
    fc.pre(network !== undefined)
    const { ranges: configured, gateway } = (network as BlockNetwork).config
    const space = rangeSpace(configured[0]!, gateway === undefined ? [] : [gateway])
    const [pool] = unwrap(poolsOf(network as BlockNetwork))
    const given = unwrap(poolSpace(pool!.spec)).given
    expect(RangeSet.format(given)).toEqual(space.kind === 'space' ? RangeSet.format(space.addresses) : [])
  })

  test.prop([fc.array(fc.tuple(ranges, flags), { minLength: 2, maxLength: 6 })])(
    'has one name for one CIDR, bounds and domain, and another one for each other',
    (all) => {
      const idOf = new Map<string, string>()
      for (const [range, more] of all) {
        const network = read({ ...range, ...more })
        if (network === undefined) continue
        const { metadata, spec } = unwrap(poolsOf(network))[0]!
        const id = JSON.stringify([spec.domain, spec.subnets[0]?.cidr, spec.subnets[0]?.ranges])
        expect(idOf.get(metadata.name) ?? id).toBe(id)
        idOf.set(metadata.name, id)
        expect([...idOf].filter(([, other]) => other === id)).toHaveLength(1)
      }
    },
  )
})

const NETWORKS = [
  { range: '10.0.0.0/29', gateway: '10.0.0.1' },
  { range: '10.0.0.0/28' },
  { ipRanges: [{ range: '10.0.0.0/29' }, { range: 'fd00::/125' }] },
  { ipRanges: [{ range: '10.0.0.0/28', range_end: '10.0.0.6' }, { range: '10.0.0.8/29' }] },
  { range: '10.0.0.0/28', network_name: 'blue' },
]

const acts = fc.record({
  command: fc.constantFrom('ADD', 'ADD', 'DEL'),
  pod: fc.nat(5),
  container: fc.nat(1),
  network: fc.nat(NETWORKS.length - 1),
  hasUid: fc.boolean(),
})

describe('ADDs and DELs in any order', () => {
  test.prop([fc.array(acts, { maxLength: 30 })], { numRuns: runs(3) })(
    'give no address twice in a domain, all ranges or none, and leave nothing',
    async (all) => {
      const world = new World()
      // some have a pool in common
      const pools = NETWORKS.flatMap((ipam) => unwrap(poolsOf(read(ipam) as BlockNetwork)))
      for (const pool of pools) await world.store.create(pool)
      await world.operate()
      const live = new Map<string, { readonly addresses: readonly string[]; readonly container: string }>()
      for (const { command, pod, container, network, hasUid } of all) {
        const ipam = NETWORKS[network]!
        const key = `${pod} ${network}`
        const id = `c${pod}-${container}`
        const who = { pod: `p${pod}`, container: id, ifname: `net${network}` }
        if (command === 'ADD') {
          const answer = await world.add(ipam, who)
          if (typeof answer === 'string') expect(answer).toMatch(/^exhausted/)
          else {
            // the same interface of the same Pod has its addresses again
            expect(live.get(key)?.addresses ?? answer).toEqual(answer)
            expect(answer).toHaveLength('ipRanges' in ipam ? 2 : 1)
            live.set(key, { addresses: answer, container: id })
          }
        } else {
          const answer = await world.del(ipam, { ...who, ...(hasUid ? {} : { uid: undefined }) })
          const isOwn = live.get(key)?.container === id
          expect(answer.split(' ')[0]).toBe(isOwn ? 'released' : 'nothing')
          if (isOwn) live.delete(key)
        }
        const given = [...live].flatMap(([of, { addresses }]) =>
          addresses.map((text) => `${of.endsWith(' 4') ? 'blue' : ''} ${text.split('/')[0]}`),
        )
        expect(new Set(given).size).toBe(given.length)
        expect(await world.rows()).toHaveLength(given.length)
      }
      for (const [key, { container }] of live) {
        const [pod, network] = key.split(' ').map(Number) as [number, number]
        await world.del(NETWORKS[network]!, { pod: `p${pod}`, container, ifname: `net${network}` })
      }
      expect(await world.rows()).toEqual([])
    },
  )
})
