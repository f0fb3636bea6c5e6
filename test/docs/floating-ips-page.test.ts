import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { expect, test } from 'vitest'
import { FLAGS } from '../../docs/examples/floating-ip-controller/flags.js'
import { MAX_CALL_SECONDS } from '../../src/provider/external/cloud.js'
import { claim, pool, World } from '../provider/external/world.js'

const page = readFileSync(fileURLToPath(new URL('../../docs/guides/floating-ips.md', import.meta.url)), 'utf8')

/** The cells of the table under a heading, without its head. */
function tableUnder(heading: string): readonly (readonly string[])[] {
  const [, text = ''] = page.split(`# ${heading}\n`)
  const rows = /^\|.*\n\|[-|]+\n((?:\|.*\n)+)/m.exec(text)?.[1]?.trimEnd().split('\n') ?? []
  return rows.map((row) => row.slice(2, -2).split(' | '))
}

const CALLS = ['createAddress', 'markAddress', 'deleteAddress'] as const

/** How many calls that change something a step has made. */
async function callsOf(world: World, step: () => Promise<unknown>): Promise<string> {
  const count = () => CALLS.reduce((sum, operation) => sum + (world.cloud.calls.get(operation) ?? 0), 0)
  const before = count()
  await step()
  return `${count() - before}`
}

test('what a claim costs is what happens', async () => {
  const world = new World()
  const preallocated = '203.0.113.20'
  world.cloud.byHand.create({ network: world.network, address: preallocated })
  await world.create(pool({ preAllocatedFloatingIPs: [preallocated] }))
  const give = async (name: string) => {
    await world.create(claim(name))
    await world.runFor(60)
  }
  const bind = await callsOf(world, () => give('c1'))
  const create = await callsOf(world, () => give('c2'))
  const release = await callsOf(world, async () => {
    await world.remove(IPAddressClaim, 'c2')
    await world.runFor(120)
  })
  world.cloud.inject('createAddress', 'lostAnswer')
  await world.create(claim('c3'))
  await world.runFor(200)
  const given = (await world.list(IPAddress)).map(({ spec }) => spec.address)
  const lost = world.outside.filter((address) => !given.includes(address))
  expect(given).toHaveLength(2)
  expect(lost).toEqual([])
  const end = 'found, and given to the claim'
  expect(tableUnder('What a claim costs')).toEqual([[bind, create, release, end]])
})

test('the wait after a start is the longest call and 5 seconds', () => {
  const { default: seconds } = FLAGS['call-seconds']
  expect(Number(seconds)).toBe(MAX_CALL_SECONDS)
  expect(page).toContain(`With \`--call-seconds 5\` they wait ${5 + 5} seconds in place of ${MAX_CALL_SECONDS + 5}.`)
})
