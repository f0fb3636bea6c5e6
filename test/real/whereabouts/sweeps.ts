import assert from 'node:assert/strict'
import { type Client, eachOf } from '../controller/client.js'
import { ControllerProcess } from '../controller/process.js'
import { paced } from '../pace.js'
import type { Depth, Report } from '../report.js'
import { waitFor } from '../servers/tools.js'
import type { Runtime } from './calls.js'
import { addNetwork, addPod, NAMESPACE, POOLS, RESERVATIONS, storedReservations, storedRows } from './ground.js'

/** A program, and what it may do. */
export interface Controllers {
  readonly program: string
  readonly kubeconfig: string
}

export interface Sweeping {
  readonly admin: Client
  readonly runtime: Runtime
  readonly controllers: Controllers
}

const ROWS: { readonly [D in Depth]: number } = { full: 4000, short: 1200 }
const LIVE = 100
const RANGE = '10.60.0.0/20'
const POOL = '10.60.0.0-20'
const SWEEP_SECONDS = 120
const END_SECONDS = 2

/**
 * A pool as years of upstream leave it: one row in another spelling, one that is not understood.
 */
export async function largePool(report: Report, sweeping: Sweeping, depth: Depth): Promise<void> {
  const { admin, runtime, controllers } = sweeping
  const rows = ROWS[depth]
  const ipam = await addNetwork(admin, 'large', { range: RANGE })
  await makePool(admin, rows)
  const added = { container: 'new', ifname: 'net1', pod: 'new', namespace: 'default' }
  await report.test(`ADD and DEL in a pool of ${rows} rows made by hand`, async () => {
    await addPod(admin, 'new', 'large')
    const add = await runtime.call('ADD', added, ipam)
    assert.deepEqual([add.exit, add.answer?.ips], [0, [{ address: addressAt(rows + 1) }]], add.stderr)
    const old = { container: idOf(rows), ifname: 'net1', pod: 'any', namespace: 'default' }
    const del = await runtime.call('DEL', old, ipam)
    assert.equal(del.exit, 0, JSON.stringify(del.answer))
    const keys = Object.keys(await allocationsOf(admin))
    assert.deepEqual(
      ['1', `0${rows}`, 'abc', `${rows + 1}`].map((key) => keys.includes(key)),
      [true, false, true, true],
    )
    assert.equal(keys.length, rows + 1)
    return `${Math.round(add.ms)} and ${Math.round(del.ms)} ms`
  })
  await report.test(
    `the sweep leaves the rows of ${LIVE + 1} Pods that exist; SIGTERM ends it within ${END_SECONDS} s`,
    async () => {
      const first = new ControllerProcess(controllers.program, controllers.kubeconfig)
      const isUnderWay = async () => Object.keys(await allocationsOf(admin)).length < rows - 200 || undefined
      await waitFor(isUnderWay, {
        seconds: SWEEP_SECONDS,
        else: 'no row is freed',
        explain: () => first.lines.join('\n'),
      })
      const inWork = await endOf(first)
      const second = new ControllerProcess(controllers.program, controllers.kubeconfig)
      const left = LIVE + 2
      const isDone = async () => {
        const [count, reservations] = [
          Object.keys(await allocationsOf(admin)).length,
          (await storedReservations(admin)).size,
        ]
        return (count === left && reservations === LIVE + 1) || undefined
      }
      await waitFor(isDone, {
        seconds: SWEEP_SECONDS,
        else: 'rows stay',
        explain: () => second.lines.slice(-20).join('\n'),
      })
      const atRest = await endOf(second)
      const live = new Set(Array.from({ length: LIVE }, (_, nth) => `default/live-${nth}`))
      const stored = (await storedRows(admin)).filter(({ pool }) => pool === POOL)
      assert.equal(stored.filter(({ podref }) => live.has(podref) || podref === 'default/new').length, LIVE + 1)
      return `ended in ${inWork} ms while it worked, in ${atRest} ms at rest`
    },
  )
}

/** @returns milliseconds. @throws AssertionError if it takes too long */
async function endOf(process: ControllerProcess): Promise<number> {
  const start = performance.now()
  assert.equal(await process.stop(), 0, process.lines.slice(-20).join('\n'))
  const ms = Math.round(performance.now() - start)
  assert(ms <= paced(END_SECONDS) * 1000, `it took ${ms} ms`)
  return ms
}

/** In the range, with its length. */
const addressAt = (offset: number) => `10.60.${offset >> 8}.${offset & 255}/20`
const idOf = (nth: number) => nth.toString(16).padStart(64, '0')

async function makePool(admin: Client, rows: number): Promise<void> {
  const allocations: Record<string, object> = {
    abc: { id: idOf(0), podref: 'default/gone-0', ifname: 'net1' },
  }
  for (let nth = 1; nth <= rows; nth++) {
    const podref = nth <= LIVE ? `default/live-${nth - 1}` : `default/gone-${nth}`
    const key = nth === rows ? `0${nth}` : `${nth}`
    allocations[key] = { id: idOf(nth), podref, ifname: 'net1' }
  }
  const [apiVersion, kind] = ['whereabouts.cni.cncf.io/v1alpha1', 'IPPool']
  const metadata = { name: POOL, namespace: NAMESPACE }
  await admin.send('POST', POOLS, { body: { apiVersion, kind, metadata, spec: { range: RANGE, allocations } } })
  await eachOf(
    Array.from({ length: LIVE }, (_, nth) => nth),
    8,
    (nth) => addPod(admin, `live-${nth}`, 'large'),
  )
  // of all Pods that exist, and of as many that do not
  await eachOf(
    Array.from({ length: 2 * LIVE }, (_, nth) => nth),
    8,
    async (nth) => {
      const podref = nth < LIVE ? `default/live-${nth}` : `default/gone-${nth + 1}`
      const body = {
        apiVersion,
        kind: 'OverlappingRangeIPReservation',
        metadata: { name: `10.60.0.${nth + 1}`, namespace: NAMESPACE },
        spec: { podref, ifname: 'net1' },
      }
      await admin.send('POST', RESERVATIONS, { body })
    },
  )
}

async function allocationsOf(admin: Client): Promise<{ readonly [key: string]: unknown }> {
  const pool = await admin.send<{ spec: { allocations?: { [key: string]: unknown } } }>('GET', `${POOLS}/${POOL}`)
  return pool.spec.allocations ?? {}
}
