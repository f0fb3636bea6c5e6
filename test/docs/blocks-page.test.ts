import { readFileSync } from 'node:fs'
import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { admitIPBlock, admitIPDomain, admitIPPool, IPBlock, IPDomain, IPHandle, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import type { Task } from 'ipam-kit/plan'
import { allocate, blocksOperator, blocksSweep, blocksWatch, KnownBlocks, release } from 'ipam-kit/provider/blocks'
import { Controller, runTask, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { add, del, POD } from '../../docs/examples/blocks/agent.js'
import { VirtualTimers } from '../run/controller/virtual-timers.js'

const read = (file: string) => readFileSync(new URL(`../../docs/${file}`, import.meta.url), 'utf8')
const limits = read('reference/limits.md')
const page = ['blocks', 'operate-blocks', 'blocks-claims'].map((name) => read(`guides/${name}.md`)).join('\n')
const manifests = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map((match) => parse(match[1] as string))
const now = () => 1_000_000

let store: Store
beforeEach(async () => {
  const kinds = [...[IPDomain, IPPool, IPBlock, IPHandle].map(({ info }) => info), POD]
  store = memoryStore({ kinds, now, uid: (n) => `uid-${n}` })
})

async function make(spec: object): Promise<void> {
  const { apiVersion, kind } = IPPool.info
  unwrap(await store.create({ apiVersion, kind, metadata: { name: 'blue' }, spec }))
  await runUntilQuiet(store, [blocksOperator()], { now })
}

async function rows(): Promise<readonly string[]> {
  const { apiVersion, kind } = IPBlock.info
  const { items } = unwrap(await store.list({ apiVersion, kind }))
  return items.flatMap((object) => {
    const { spec } = IPBlock.parse(object)
    return Object.entries(spec.rows).map(([unit, { uid }]) => `${spec.cidr} ${unit} ${uid} ${spec.node}`)
  })
}

const pod = (uid: string, node = 'n1') => ({ uid, pod: `default/${uid}`, interface: 'eth0', container: 'c', node })
const options = (known: KnownBlocks) => ({ now, known, pools: ['blue'], handle: !known.isComplete })

/** Runs until everything that is stored was shown, and nothing is to be done. */
async function watched(): Promise<KnownBlocks> {
  const watch = blocksWatch({ now })
  await runUntilQuiet(store, [watch], { now })
  return watch.known
}

describe('the manifests of the guides to blocks', () => {
  const of = (kind: string): KubeObject => manifests.find((manifest) => manifest.kind === kind)

  test('are one of each kind', () => {
    expect(manifests.map(({ kind }) => kind)).toEqual(['IPPool', 'IPDomain', 'IPBlock', 'IPHandle', 'IPAddressClaim'])
  })

  test('are valid, and admitted together', () => {
    for (const model of [IPPool, IPDomain, IPBlock, IPHandle, IPAddressClaim]) {
      expect(model.validate(of(model.info.kind)), model.info.kind).toEqual([])
    }
    const domain = IPDomain.parse(of('IPDomain'))
    const admissions = [
      admitIPDomain({ operation: 'CREATE', object: domain }),
      admitIPPool({ operation: 'CREATE', object: IPPool.parse(of('IPPool')), domain }),
      admitIPBlock({ operation: 'CREATE', object: IPBlock.parse(of('IPBlock')), domain }),
    ]
    for (const admission of admissions) expect(admission).toMatchObject({ allowed: true })
  })
})

describe('requests', () => {
  const shown = (row: string) => {
    const line = limits.split('\n').find((each) => each.startsWith(`| ${row}`)) ?? ''
    return line
      .split('|')
      .slice(2, 5)
      .map((cell) => Number.parseInt(cell, 10))
  }

  async function counted(
    knowledge: () => Promise<KnownBlocks> | KnownBlocks,
    {
      affinity,
      node,
      handle,
    }: { readonly affinity?: object; readonly node?: { readonly name: string }; readonly handle?: boolean } = {},
  ): Promise<readonly number[]> {
    await make({ subnets: [{ cidr: '10.0.0.0/16' }], ipv4: { blockPrefixLength: 24 }, affinity })
    const wish = { pools: ['blue'], families: [4], container: 'c-1', node, handle } as const
    const owner = { uid: 'a', name: 'default/a' }
    await runTask(allocate({ owner: { uid: 'b', name: 'default/b' }, ...wish }, await knowledge()), store, { now })
    const counts: number[] = []
    const give = async (): Promise<Task> => allocate({ owner, ...wish }, await knowledge())
    const giveBack = async (): Promise<Task> => release({ owner, pools: ['blue'], handle }, await knowledge())
    for (const task of [give, give, giveBack]) {
      const ended = await runTask(await task(), store, { now })
      expect(ended.kind).toBe('done')
      counts.push(ended.requests)
    }
    expect(await rows()).toEqual([`10.0.0.0/24 1 b ${node?.name}`])
    return counts
  }

  test('of a writer that knows nothing', async () => {
    expect(await counted(() => new KnownBlocks())).toEqual(shown('nothing:'))
  })

  test('of a writer that knows only its node', async () => {
    const options = { affinity: { by: 'node' }, node: { name: 'n1' } }
    expect(await counted(() => new KnownBlocks(), options)).toEqual(shown('nothing, in a pool with `affinity`'))
  })

  test('of a writer that knows nothing and has handles', async () => {
    expect(await counted(() => new KnownBlocks(), { handle: true })).toEqual(shown('nothing, with `handle`'))
  })

  test('of a writer that remembers', async () => {
    const known = new KnownBlocks()
    expect(await counted(() => known)).toEqual(shown('the blocks that the process has read or written'))
  })

  test('of a writer that watches', async () => {
    expect(await counted(watched)).toEqual(shown('all, by a watch'))
  })
})

describe('an agent', () => {
  test('that knows nothing finds what it has given by the handle, and without one may give twice', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }], ipv4: { blockPrefixLength: 30 } })
    for (const uid of ['a', 'b', 'c']) await add(store, pod(uid), options(new KnownBlocks()))
    await runUntilQuiet(store, [blocksOperator()], { now })
    // the status says that the first block is full, and so nobody looks into it
    expect(await add(store, pod('a'), options(new KnownBlocks()))).toMatchObject({ kind: 'already' })
    const { uid, pod: name, interface: eth0 } = pod('a')
    const without = { owner: { uid, name }, interface: eth0, container: 'c', pools: ['blue'], families: [4] as const }
    await runTask(allocate(without, new KnownBlocks()), store, { now })
    expect((await rows()).filter((row) => row.includes(' a '))).toHaveLength(2)
    expect(await add(store, pod('a'), options(await watched()))).toMatchObject({ kind: 'already' })
    await del(store, pod('a'), options(new KnownBlocks()))
    expect((await rows()).filter((row) => row.includes(' a '))).toHaveLength(1)
    await del(store, pod('a'), options(await watched()))
    expect((await rows()).filter((row) => row.includes(' a '))).toEqual([])
  })

  test('that watches is told of what others write, and keeps to the blocks of its node', async () => {
    const affinity = { by: 'node', maxBlocksPerNode: 1, borrow: false }
    await make({ subnets: [{ cidr: '10.0.0.0/24' }], ipv4: { blockPrefixLength: 30 }, affinity })
    const timers = new VirtualTimers(now())
    const watch = blocksWatch({ now })
    const controller = new Controller({
      store,
      planners: [watch],
      timers,
      onProblem: (problem) => expect(problem).toBeUndefined(),
    })
    const running = controller.run()
    for (const [uid, node] of [
      ['a', 'n1'],
      ['b', 'n2'],
      ['c', 'n1'],
      ['d', 'n1'],
    ] as const) {
      await timers.pass(1000)
      expect(await add(store, pod(uid, node), options(watch.known))).toMatchObject({ kind: 'allocated' })
    }
    expect(await rows()).toEqual([
      '10.0.0.0/30 1 a n1',
      '10.0.0.0/30 2 c n1',
      '10.0.0.0/30 3 d n1',
      '10.0.0.4/30 0 b n2',
    ])
    await timers.pass(1000)
    expect(await add(store, pod('e', 'n1'), options(watch.known))).toMatchObject({ kind: 'exhausted' })
    controller.stop()
    await running
  })

  test('leaves what its sweep finds: rows of Pods that are gone', async () => {
    await make({ subnets: [{ cidr: '10.0.0.0/24' }] })
    const metadata = { namespace: 'default', name: 'lives' }
    const { uid } = unwrap(await store.create({ apiVersion: 'v1', kind: 'Pod', metadata, spec: {} })).metadata
    for (const each of [uid as string, 'gone']) {
      const attachment = { ...pod(each), pod: each === 'gone' ? 'default/gone' : 'default/lives' }
      await add(store, attachment, options(new KnownBlocks()))
    }
    const timers = new VirtualTimers(now())
    const controller = new Controller({
      store,
      planners: [blocksSweep({ owners: [POD] })],
      timers,
      onProblem: (problem) => expect(problem).toBeUndefined(),
    })
    const running = controller.run()
    await timers.pass(899_000)
    expect(await rows()).toHaveLength(2)
    await timers.pass(10_000)
    expect(await rows()).toEqual([`10.0.0.0/24 1 ${uid} undefined`])
    controller.stop()
    await running
  })
})
