import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { IPPool } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { AdminWorld, POOL } from './whereabouts-admin-world.js'

let world: AdminWorld

beforeEach(async () => {
  world = await new AdminWorld().prepare()
})

const poolRef = { apiVersion: IPPool.info.apiVersion, kind: 'IPPool', namespace: 'kube-system', name: POOL }

async function copied(): Promise<void> {
  for (const step of ['start', 'copy']) {
    const { exit, out } = await world.run(`upgrade ${step} --pool ${POOL}`)
    if (exit !== 0) throw new Error(out)
  }
}

describe('show', () => {
  test('prints the rows of pools with their holders, and what is unusual', async () => {
    await world.start('web-1')
    await world.start('web-2')
    await world.end('web-2')
    const allocations = { nonsense: { id: 'x', podref: 'ns/x' } }
    unwrap(await world.store.patch(poolRef, { spec: { allocations } }))
    const { exit, out } = await world.run('show')
    expect(out).toBe(`IPPool 10.10.0.0-24 of whereabouts: 2 rows
  ADDRESS    POD       INTERFACE  CONTAINER  STATE
  10.10.0.2  ns/web-1  net1       c-web-1    in use
  10.10.0.3  ns/web-2  net1       c-web-2    the Pod ns/web-2 does not exist

  Oddities
    the row nonsense: the key is not a whole number of 64 bits`)
    expect(exit).toBe(0)
  })

  test('prints the rows of blocks, and says which Pod does not exist', async () => {
    await world.start('web-1', 'blocks')
    await world.start('web-2', 'blocks')
    await world.end('web-2')
    // a later Pod of the name is another one
    await world.start('web-2', 'blocks')
    const { out } = await world.run('show --output json')
    const rows = { interface: 'net1' }
    expect(JSON.parse(out)).toEqual({
      pools: [
        {
          kind: 'ipam-kit',
          name: 'whereabouts.10.10.0.0-24',
          phase: null,
          oddities: [],
          rows: [
            { ...rows, address: '10.10.0.2', pod: 'ns/web-1', container: 'c-web-1', state: 'in use' },
            {
              ...rows,
              address: '10.10.0.3',
              pod: 'ns/web-2',
              container: 'c-web-2',
              state: expect.stringMatching(/not exist/),
            },
            { ...rows, address: '10.10.0.4', pod: 'ns/web-2', container: 'c-web-2', state: 'in use' },
          ],
        },
      ],
      problems: [],
    })
  })

  test('names definitions that cannot be read', async () => {
    const { apiVersion, kind } = NetworkAttachmentDefinition.info
    const put = (name: string, config: string) =>
      world.put({ apiVersion, kind, metadata: { namespace: 'ns', name }, spec: { config } } as never)
    await put('other', '{"type":"macvlan","ipam":{"type":"dhcp"}}')
    await put('wrong', '{"type":"macvlan","ipam":{"type":"whereabouts","range":"x"}}')
    const { problems } = JSON.parse((await world.run('show --output json')).out)
    expect(problems).toEqual([expect.stringMatching(/^NetworkAttachmentDefinition ns\/wrong: .*ipam\.range/)])
  })

  test('--pool prints one pool, and is 3 for a pool without rows', async () => {
    await world.start('web-1')
    await world.start('web-2', 'blocks')
    expect((await world.run(`show --pool ${POOL}`)).out).not.toContain('web-2')
    expect((await world.run('show --pool 10.20.0.0-24')).exit).toBe(3)
  })
})

describe('release', () => {
  test('frees the row and the reservation of a Pod that does not exist', async () => {
    await world.start('web-1')
    const address = await world.start('web-2')
    await world.end('web-2')
    const { exit, out } = await world.run(`release ${address} --pod ns/web-2`)
    expect(out).toContain('ns/web-2 does not have 10.10.0.3 any more')
    expect(exit).toBe(0)
    expect(await world.rows()).toEqual({ pool: ['10.10.0.2 ns/web-1'], reserved: ['10.10.0.2 ns/web-1'], blocks: [] })
    expect((await world.run(`release ${address} --pod ns/web-2`)).exit).toBe(3)
  })

  test('leaves the row of a Pod that exists, unless it is forced', async () => {
    await world.start('web-1')
    const { exit, out } = await world.run('release 10.10.0.2 --pod ns/web-1')
    expect([exit, out]).toEqual([3, 'the Pod ns/web-1 exists: 10.10.0.2 is not released'])
    expect((await world.run('release 10.10.0.2 --pod ns/web-1 --force')).exit).toBe(0)
    expect(await world.rows()).toEqual({ pool: [], reserved: [], blocks: [] })
  })

  test.each([
    ['--pod ns/web-2', 'ns/web-2 does not have 10.10.0.2'],
    ['--pod ns/web-1 --container other', 'ns/web-1 does not have 10.10.0.2'],
    ['--pod ns/web-1 --pool other', 'ns/web-1 does not have 10.10.0.2'],
  ])('leaves the row of another holder: %s', async (flags, message) => {
    await world.start('web-1')
    await world.end('web-1')
    expect(await world.run(`release 10.10.0.2 ${flags}`)).toMatchObject({ exit: 3, out: message })
    expect((await world.rows()).pool).toHaveLength(1)
  })

  test('leaves the row of a claim, unless it is forced', async () => {
    await world.start('web-1')
    await world.end('web-1')
    unwrap(
      await world.store.patch(poolRef, { spec: { allocations: { 2: { ipamclaim: 'ns/vm', ipamclaimuid: 'u' } } } }),
    )
    const { exit, out } = await world.run('release 10.10.0.2 --pod ns/web-1')
    expect([exit, out]).toEqual([3, 'IPAMClaim ns/vm holds 10.10.0.2: it is not released'])
    expect((await world.run('release 10.10.0.2 --pod ns/web-1 --force')).exit).toBe(0)
  })

  test('--dry-run prints the writes, and makes none', async () => {
    await world.start('web-1')
    await copied()
    await world.end('web-1')
    const before = await world.rows()
    const { exit, out } = await world.run('release 10.10.0.2 --pod ns/web-1 --dry-run')
    expect(exit).toBe(0)
    for (const written of [/patch .*IPPool.*10\.10\.0\.0-24/, /delete .*Reservation/, /patch .*IPBlock/]) {
      expect(out).toMatch(written)
    }
    expect(await world.rows()).toEqual(before)
  })

  test('frees the row of a block with that of the pool', async () => {
    await world.start('web-1')
    await copied()
    await world.start('web-2')
    await world.end('web-1')
    expect((await world.run('release 10.10.0.2 --pod ns/web-1')).exit).toBe(0)
    const rows = ['10.10.0.3 ns/web-2']
    expect(await world.rows()).toEqual({ pool: rows, reserved: rows, blocks: rows })
  })

  test('leaves the row of a block whose Pod exists, and frees that of an earlier Pod of the name', async () => {
    await world.start('web-1', 'blocks')
    for (const flag of ['', ' --dry-run']) {
      expect((await world.run(`release 10.10.0.2 --pod ns/web-1${flag}`)).exit).toBe(3)
    }
    await world.end('web-1')
    await world.start('web-1', 'blocks')
    expect((await world.run('release 10.10.0.2 --pod ns/web-1')).exit).toBe(0)
    expect((await world.rows()).blocks).toEqual(['10.10.0.3 ns/web-1'])
  })

  test('leaves a row that a new Pod of the name gets meanwhile', async () => {
    await world.start('web-1')
    await world.end('web-1')
    let hasStarted = false
    const { store } = world
    const late = storeOver(store, {
      patch: async (ref, patch, options) => {
        if (!hasStarted) {
          hasStarted = true
          const allocations = { 2: { id: 'c-new' } }
          unwrap(await store.patch(poolRef, { spec: { allocations } }))
        }
        return store.patch(ref, patch, options)
      },
    })
    const { exit, out } = await world.run('release 10.10.0.2 --pod ns/web-1', late)
    expect(exit).toBe(3)
    expect(out).toMatch(/10\.10\.0\.2 is held by ns\/web-1, container c-new$/)
    expect((await world.rows()).pool).toEqual(['10.10.0.2 ns/web-1'])
  })
})

test.each([
  ['', /^say what to do: show, release, upgrade$/],
  ['erase', /^say what to do/],
  ['show more', /^usage: show /],
  ['show --output xml', /^--output \(xml\) is text or json$/],
  ['release --pod a/b', /^usage: release ADDRESS /],
  ['release x --pod a/b', /^x is not an address$/],
  ['release 10.0.0.1', /^--pod NAMESPACE\/NAME is the holder$/],
  ['release 10.0.0.1 --pod a', /^--pod NAMESPACE\/NAME is the holder$/],
  ['show --nope', /Unknown option/],
])('a wrong command line is one sentence and status 2: %s', async (line, sentence) => {
  const { exit, errors } = await world.run(line)
  expect(exit).toBe(2)
  expect(errors).toMatch(sentence)
})
