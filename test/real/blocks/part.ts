import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import { blocksOperator } from 'ipam-kit/provider/blocks'
import { Controller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import type { OperatorOutcome } from '../../../src/provider/blocks/operator/outcome.js'
import { bundle } from '../bundle.js'
import type { Depth, Part, Report } from '../report.js'
import { startEtcd } from '../servers/etcd.js'
import { importClient, installClients } from '../servers/install.js'
import { startKubernetes } from '../servers/kubernetes.js'
import { startPostgres } from '../servers/postgres.js'
import { startRedis } from '../servers/redis.js'
import { waitFor } from '../servers/tools.js'
import { type ClaimsSize, claimsOn } from './claims.js'
import { type Engine, installKinds, openStore, timers } from './ground.js'
import { blocks, counts, given, isV6 } from './rows.js'
import { Writers } from './writers.js'

/** How many owners each process serves, and of what: addresses of 2^bits of each family. */
interface Size {
  readonly owners: number
  readonly bits: { readonly ipv4: number; readonly ipv6: number }
}

/**
 * A pool with more blocks than are written at a time, and one with so few that writers meet all the
 * time, and with hardly more addresses than owners.
 */
const WIDE: Size = { owners: 2500, bits: { ipv4: 14, ipv6: 64 } }
const TIGHT: Size = { owners: 250, bits: { ipv4: 10, ipv6: 10 } }
const SMALL: Size = { owners: 60, bits: { ipv4: 8, ipv6: 8 } }
const WRITERS = 4
const POOL = 'blue'
const PATIENCE_SECONDS = 60

interface Ground {
  readonly engine: Engine
  readonly place: string
  stop(): Promise<void>
}

/** Several processes give addresses of one pool at once, and one of them dies. */
export const blocksPart: Part = {
  name: 'blocks',
  about:
    'several processes give addresses at once, and serve claims, and are killed: none is given twice, and none is lost',
  place: 'alone',
  async run(report, depth) {
    await installClients()
    const program = await bundle(fileURLToPath(new URL('writer.ts', import.meta.url)), 'blocks-writer')
    for (const { start, size } of RUNS[depth]) await writeOn(report, program, { ...(await start()), size })
    await claimsOn(report, CLAIMS[depth])
  },
}

interface Run {
  readonly start: () => Promise<Ground>
  readonly size: Size
}

const ENGINES = [onKubernetes, onPostgres, onRedis, onEtcd]
const RUNS: { readonly [D in Depth]: readonly Run[] } = {
  full: [{ start: onKubernetes, size: WIDE }, ...ENGINES.map((start) => ({ start, size: TIGHT }))],
  short: [onKubernetes, onRedis].map((start) => ({ start, size: SMALL })),
}

const CLAIMS: { readonly [D in Depth]: ClaimsSize } = {
  full: { claims: 2000, kills: 6 },
  short: { claims: 200, kills: 2 },
}

async function onKubernetes(): Promise<Ground> {
  const server = await startKubernetes({ bare: true })
  await installKinds(server)
  return { engine: 'kubernetes', place: server.kubeconfig.path, stop: server.stop }
}

async function onPostgres(): Promise<Ground> {
  const { url, stop } = await startPostgres()
  return { engine: 'postgres', place: url, stop }
}

async function onRedis(): Promise<Ground> {
  const { url, stop } = await startRedis()
  return { engine: 'redis', place: url, stop }
}

async function onEtcd(): Promise<Ground> {
  const { url, stop } = await startEtcd()
  return { engine: 'etcd', place: url, stop }
}

async function writeOn(
  report: Report,
  program: string,
  { engine, place, stop, size }: Ground & { readonly size: Size },
): Promise<void> {
  const { store, close } = await openStore(engine, place, importClient)
  const operator = operatorOn(store)
  const { owners } = size
  const writers = new Writers({ program, engine, place, owners })
  const running = operator.run()
  try {
    await makePool(store, size)
    await writers.start()
    const isGiven = await report.test(`${engine}: ${WRITERS} x ${owners} addresses of both families`, () =>
      giveAll(store, writers, size),
    )
    // to take so much back takes as long again, and shows nothing that less does not
    if (!isGiven || size === WIDE) return
    await report.test(`${engine}: all of it given back`, () => takeAll(store, writers, size))
    await report.test(`${engine}: the pool goes, and everything with it`, () => endPool(store))
  } finally {
    await writers.stop()
    operator.stop()
    await running
    await close()
    await stop()
  }
}

function operatorOn(store: Store): Controller<OperatorOutcome> {
  return new Controller({
    store,
    planners: [blocksOperator({ emptySeconds: 1, terminationGraceSeconds: 1 })],
    timers,
    onProblem: (problem) => {
      // others write what it has read: it tries again
      if (problem.kind !== 'failed' || problem.failure.code !== 'STORE_CONFLICT') console.error(JSON.stringify(problem))
    },
  })
}

async function makePool(store: Store, size: Size): Promise<void> {
  const { apiVersion, kind } = IPPool.info
  const { ipv4, ipv6 } = size.bits
  const spec = { subnets: [{ cidr: `10.0.0.0/${32 - ipv4}` }, { cidr: `fd00::/${128 - ipv6}` }] }
  unwrap(await store.create({ apiVersion, kind, metadata: { name: POOL }, spec }))
  await untilCounted(store, size, 0n)
}

/** Every address was told of, is stored, and is counted. */
async function giveAll(store: Store, writers: Writers, size: Size): Promise<string> {
  const { owners } = size
  const killedAfter = 1 + Math.floor(Math.random() * owners * 0.9)
  const seen = await writers.give(killedAfter)
  const stored = await given(store)
  const all = [...stored.values()].flat()
  const total = WRITERS * owners
  assert.deepEqual([all.filter((text) => !isV6(text)).length, all.filter(isV6).length], [total, total])
  assert.deepEqual(new Map([...writers.told].sort()), new Map([...stored].sort()))
  await untilCounted(store, size, BigInt(total))
  return `${seen}; ${(await blocks(store)).length} blocks`
}

/** The operator removes the blocks that are empty, but for one of each family. */
async function takeAll(store: Store, writers: Writers, size: Size): Promise<string> {
  const seen = await writers.take()
  assert.equal((await given(store)).size, 0)
  await untilCounted(store, size, 0n)
  await waitFor(async () => (await blocks(store)).length === 2 || undefined, {
    seconds: PATIENCE_SECONDS,
    else: 'empty blocks stay',
  })
  const left = (await blocks(store)).map(({ spec }) => [isV6(spec.cidr), Object.keys(spec.rows).length])
  assert.deepEqual(left, [
    [false, 0],
    [true, 0],
  ])
  return seen
}

async function endPool(store: Store): Promise<undefined> {
  const { apiVersion, kind } = IPPool.info
  unwrap(await store.delete({ apiVersion, kind, name: POOL }))
  await waitFor(
    async () => {
      const pool = await store.get({ apiVersion, kind, name: POOL })
      if (!pool.ok && pool.failure.code !== 'STORE_NOT_FOUND') throw new Error(pool.failure.message)
      return (!pool.ok && (await blocks(store)).length === 0) || undefined
    },
    { seconds: PATIENCE_SECONDS, else: 'the pool and its blocks stay' },
  )
  return undefined
}

async function untilCounted(store: Store, { bits }: Size, allocated: bigint): Promise<void> {
  // without the first and the last address of a subnet
  const countsOf = (of: number) => [`${allocated}`, `${2n ** BigInt(of) - 2n - allocated}`]
  const wanted = { ipv4: countsOf(bits.ipv4), ipv6: countsOf(bits.ipv6) }
  let found: unknown
  await waitFor(
    async () => {
      found = await counts(store, POOL)
      return JSON.stringify(found) === JSON.stringify(wanted) || undefined
    },
    { seconds: PATIENCE_SECONDS, else: 'the pool does not count what is given', explain: () => JSON.stringify(found) },
  )
}
