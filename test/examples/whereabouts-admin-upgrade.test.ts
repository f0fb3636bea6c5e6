import { IPPool as BlockPool } from 'ipam-kit/crd/ipam-kit'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { IPPool } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { blocksOperator } from 'ipam-kit/provider/blocks'
import { LEASE, runUntilQuiet } from 'ipam-kit/run'
import { beforeEach, describe, expect, test } from 'vitest'
import { AdminWorld, POOL } from './whereabouts-admin-world.js'

let world: AdminWorld

beforeEach(async () => {
  world = await new AdminWorld().prepare()
})

const poolRef = { apiVersion: IPPool.info.apiVersion, kind: 'IPPool', namespace: 'kube-system', name: POOL }
const leaseRef = { apiVersion: LEASE.apiVersion, kind: LEASE.kind, namespace: 'kube-system', name: 'whereabouts' }

const upgrade = (step: string, flags = '') =>
  world.run(`upgrade ${step} --pool ${POOL}${flags === '' ? '' : ` ${flags}`}`)

async function phase(): Promise<string | undefined> {
  return unwrap(await world.store.get(poolRef)).metadata.annotations?.['ipam-kit.dev/upgrade']
}

describe('upgrade plan', () => {
  test('names the pools of blocks, and what is unusual', async () => {
    await world.start('web-1')
    const { exit, out } = await world.run('upgrade plan')
    expect(out).toBe(`IPPool 10.10.0.0-24: ready, 1 rows to copy
  IPPool whereabouts.10.10.0.0-24 in the domain whereabouts`)
    expect(exit).toBe(0)
  })

  test('is 3 with an obstacle, as text and as JSON', async () => {
    await world.start('web-1')
    await world.start('web-2')
    unwrap(await world.store.patch(poolRef, { spec: { allocations: { 3: { podref: 'web-2' } } } } as never))
    const { exit, out } = await upgrade('plan')
    expect(out).toContain('IPPool 10.10.0.0-24: not ready, 1 rows to copy')
    expect(out).toContain('  obstacle row-texts: 10.10.0.3: the row names no Pod')
    expect(exit).toBe(3)
    const { pools } = JSON.parse((await upgrade('plan', '--output json')).out)
    expect(pools[0]).toMatchObject({ name: POOL, isReady: false, rows: [{ address: '10.10.0.2', owner: 'ns/web-1' }] })
    expect((await world.run('upgrade plan --pool other')).exit).toBe(3)
  })
})

test('start, copy and verify bring the rows to blocks', async () => {
  await world.start('web-1')
  await world.start('web-2')
  const started = await upgrade('start')
  expect([started.exit, await phase()]).toEqual([0, 'dual-write'])
  expect((await upgrade('start')).exit).toBe(0)
  const before = await upgrade('verify')
  expect(before.out).toBe(`IPPool 10.10.0.0-24 and the blocks differ in 2 addresses
  ADDRESS    DIFFERENCE  POOL                   BLOCKS
  10.10.0.2  missing     ns/web-1 c-web-1/net1  -
  10.10.0.3  missing     ns/web-2 c-web-2/net1  -`)
  expect(before.exit).toBe(3)
  expect((await upgrade('copy')).exit).toBe(0)
  const verified = await upgrade('verify', '--output json')
  expect([verified.exit, JSON.parse(verified.out)]).toMatchObject([0, { kind: 'same', rows: 2 }])
  expect((await world.rows()).blocks).toEqual((await world.rows()).pool)
})

test('start creates the pools of blocks, and continues when they are accepted', async () => {
  await world.start('web-1')
  const [target] = unwrap(await world.store.list(BlockPool.info)).items
  const { apiVersion, kind } = BlockPool.info
  const ref = { apiVersion, kind, name: target!.metadata.name }
  unwrap(await world.store.patch(ref, { metadata: { finalizers: [] } }))
  unwrap(await world.store.delete(ref))
  const dry = await upgrade('start', '--dry-run')
  expect([dry.exit, dry.out]).toEqual([4, expect.stringMatching(/^created IPPool/)])
  expect(unwrap(await world.store.list(BlockPool.info)).items).toEqual([])
  expect((await upgrade('start')).exit).toBe(4)
  expect((await upgrade('start')).exit).toBe(3)
  await runUntilQuiet(world.store, [blocksOperator()], { now: world.now })
  expect((await upgrade('start')).exit).toBe(0)
})

test('--dry-run prints the writes of a step, and makes none', async () => {
  await world.start('web-1')
  const started = await upgrade('start', '--dry-run')
  expect(started.exit).toBe(0)
  for (const written of [/create .*Lease/, /patch .*IPPool.*dual-write/]) expect(started.out).toMatch(written)
  expect(await phase()).toBeUndefined()
  expect((await world.store.get(leaseRef)).ok).toBe(false)
  await upgrade('start')
  const copied = await upgrade('copy', '--dry-run')
  expect([copied.exit, copied.out]).toEqual([0, expect.stringMatching(/create .*IPBlock/)])
  expect((await world.rows()).blocks).toEqual([])
  await upgrade('copy')
  expect((await upgrade('verify', '--dry-run')).exit).toBe(0)
})

test('start waits for a writer of upstream that holds the Lease', async () => {
  await world.start('web-1')
  const renewTime = new Date(world.now()).toISOString().replace('Z', '000Z')
  const spec = { holderIdentity: 'node-1', leaseDurationSeconds: 10, renewTime }
  const { apiVersion, kind, ...metadata } = leaseRef
  await world.put({ apiVersion, kind, metadata, spec } as never)
  expect(await upgrade('start')).toMatchObject({ exit: 4, out: 'node-1 holds the Lease of whereabouts' })
  expect(await phase()).toBeUndefined()
})

describe('the definitions', () => {
  test('start refuses a definition of the type ipam-kit', async () => {
    await world.start('web-1')
    await world.setType('ipam-kit')
    const { exit, out } = await upgrade('start')
    expect([exit, out]).toEqual([3, 'NetworkAttachmentDefinition ns/lab has the IPAM type ipam-kit'])
    expect((await upgrade('verify')).out).toMatch(/differ in 1 addresses/)
  })

  test('one that cannot be read stops each step, unless a flag names it', async () => {
    await world.start('web-1')
    const { apiVersion, kind } = NetworkAttachmentDefinition.info
    await world.put({ apiVersion, kind, metadata: { namespace: 'ns', name: 'file' }, spec: {} } as never)
    for (const step of ['plan', 'start']) {
      const { exit, out } = await upgrade(step)
      expect([exit, out]).toEqual([3, expect.stringMatching(/ns\/file: its configuration is in a file of the Nodes$/)])
      expect((await upgrade(step, '--skip-definition ns/file')).exit).toBe(0)
    }
  })
})

test.each([
  ['upgrade', /^usage: upgrade plan\|start\|copy\|verify/],
  ['upgrade nothing --pool x', /^there is no step nothing$/],
  ['upgrade start', /^--pool NAME is the pool of whereabouts$/],
  ['upgrade roll-back --pool x', /^--to is dual-write or none$/],
  ['upgrade roll-back --pool x --to blocks', /^--to is dual-write or none$/],
  ['upgrade start --pool x --to none', /^--to is for roll-back$/],
  ['upgrade plan --output xml', /^--output \(xml\) is text or json$/],
  ['upgrade plan --no-blocks', /^an upgrade needs the kinds of blocks$/],
])('a wrong command line is one sentence and status 2: %s', async (line, sentence) => {
  const { exit, errors } = await world.run(line)
  expect(exit).toBe(2)
  expect(errors).toMatch(sentence)
})
