import fc from 'fast-check'
import { Pod } from 'ipam-kit/crd/core'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { expect, test } from 'vitest'
import { claimOf, LEDGERS, ovnNad, podIn, ServingWorld } from './serving-world.js'

const PODS = ['p0', 'p1', 'p2', 'p3', 'p4'] as const
const CLAIMS = ['c0', 'c1', 'c2'] as const
const step = fc.oneof(
  fc.record({
    do: fc.constant('pod'),
    name: fc.constantFrom(...PODS),
    nad: fc.constantFrom('blue', 'also'),
    claim: fc.option(fc.constantFrom(...CLAIMS), { nil: undefined }),
  }),
  fc.record({ do: fc.constantFrom('end', 'delete'), name: fc.constantFrom(...PODS) }),
  fc.record({ do: fc.constantFrom('claim', 'release'), name: fc.constantFrom(...CLAIMS) }),
  fc.record({ do: fc.constantFrom('restart', 'refuse', 'look', 'look', 'look'), name: fc.constant('') }),
  fc.record({ do: fc.constantFrom('define', 'undefine'), name: fc.constant('also') }),
)

/** What the objects say: who has which addresses. */
async function stateOf(world: ServingWorld) {
  const list = async (info: typeof Pod.info) => {
    const found = await world.store.list(info)
    return found.ok ? found.value.items : []
  }
  const claims = await Promise.all(
    (await list(IPAMClaim.info)).map(async ({ metadata }) => ({
      uid: metadata.uid,
      name: metadata.name,
      ips: await world.ips(metadata.name),
    })),
  )
  const living = (await list(Pod.info)).filter(({ status }) => (status as { phase?: string })?.phase !== 'Succeeded')
  const pods = await Promise.all(
    living.map(async ({ metadata }) => ({
      uid: metadata.uid,
      name: metadata.name,
      claim: /claim-reference":"(\w+)"/.exec(JSON.stringify(metadata.annotations).replaceAll('\\', ''))?.[1],
      ips: await world.has(metadata.name),
    })),
  )
  return { claims, pods }
}

test.each(LEDGERS)(
  'an address has one holder, and a claim or a Pod that lives keeps its addresses, on %s',
  async (ledger) => {
    let served = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 40 }), async (steps) => {
        const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), ovnNad('also'))
        const before = new Map<string | undefined, readonly string[]>()
        for (const one of [...steps, { do: 'look', name: '' }]) {
          await doStep(world, one)
          const { claims, pods } = await stateOf(world)
          for (const { uid, ips } of [...claims, ...pods]) {
            const had = before.get(uid) ?? []
            if (had.length > 0) expect(ips).toEqual(had)
            before.set(uid, ips)
          }
          const holders = [
            ...claims.flatMap(({ name, ips }) => ips.map((ip) => ({ ip, holder: `claim ${name}` }))),
            ...pods.flatMap(({ name, claim, ips }) =>
              ips.map((ip) => ({ ip, holder: claim === undefined ? `pod ${name}` : `claim ${claim}` })),
            ),
          ]
          for (const { ip, holder } of holders) {
            expect(holders.filter((other) => other.ip === ip && other.holder !== holder)).toEqual([])
          }
          served = Math.max(served, holders.length)
          if (ledger === 'blocks' && one.do === 'look') await expectRows(world, await stateOf(world))
        }
      }),
      { numRuns: 100 },
    )
    expect(served).toBeGreaterThan(2)
  },
)

/**
 * Each address has one row. A row beside those is of an owner that lives, or of a claim that does not
 * exist and that a Pod without addresses names.
 */
async function expectRows(world: ServingWorld, { claims, pods }: Awaited<ReturnType<typeof stateOf>>): Promise<void> {
  const waiting = pods.filter(({ claim, ips }) => ips.length === 0 && !claims.some(({ name }) => name === claim))
  const owners = new Set([...claims, ...pods].map(({ name }) => `ns1/${name}`))
  for (const { claim } of waiting) owners.add(`ns1/${claim}`)
  const held = new Set([...claims, ...pods].flatMap(({ ips }) => ips.map((ip) => ip.slice(0, ip.indexOf('/')))))
  const rows = (await world.rows()).map((row) => row.split(' '))
  expect(rows.flatMap(([address = '']) => (held.has(address) ? [address] : [])).toSorted()).toEqual(
    [...held].toSorted(),
  )
  expect(rows.filter(([address = '', owner = '']) => !held.has(address) && !owners.has(owner))).toEqual([])
}

async function doStep(world: ServingWorld, one: { readonly do: string; readonly name: string }): Promise<void> {
  const ignored = () => undefined
  const { nad, claim } = one as { readonly nad?: string; readonly claim?: string }
  switch (one.do) {
    case 'pod':
      await world.put(podIn(one.name, [claim === undefined ? `${nad}` : `${nad}:${claim}`])).catch(ignored)
      return
    case 'end':
      await world.change(Pod.info, one.name, { status: { phase: 'Succeeded' } }, 'status').catch(ignored)
      return
    case 'delete':
      await world.delete(Pod.info, one.name).catch(ignored)
      return
    case 'claim':
      await world.put(claimOf(one.name)).catch(ignored)
      return
    case 'release':
      await world.delete(IPAMClaim.info, one.name).catch(ignored)
      return
    case 'define':
      await world.put(ovnNad(one.name)).catch(ignored)
      return
    case 'undefine':
      await world.delete(NetworkAttachmentDefinition.info, one.name).catch(ignored)
      return
    case 'restart':
      world.restart()
      return
    case 'refuse':
      world.refuses = (effect) => effect.startsWith('Pod')
      await world.look()
      world.refuses = () => false
      return
    default:
      await world.look()
  }
}
