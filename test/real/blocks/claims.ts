import { bundle } from '../bundle.js'
import {
  AT_ONCE,
  assertDistinct,
  type BoundClaims,
  claimOf,
  createClaims,
  makePools,
  untilBound,
  watchBound,
} from '../controller/claims.js'
import { Client } from '../controller/client.js'
import { MAIN, startGround } from '../controller/ground.js'
import { ControllerProcess } from '../controller/process.js'
import { pause } from '../pace.js'
import type { Report } from '../report.js'
import { waitFor } from '../servers/tools.js'

const PROCESSES = 3
const POOLS = 4
const PREFIX = 20
const NAMESPACE = 'default'
const BLOCKS = '/apis/ipam-kit.dev/v1alpha1/ipblocks'
const PATIENCE_SECONDS = 600

export interface ClaimsSize {
  readonly claims: number
  /** How often a process is killed and another one started in its place. */
  readonly kills: number
}

/** Several example controllers serve the same claims on blocks, and are killed meanwhile. */
export async function claimsOn(report: Report, { claims, kills }: ClaimsSize): Promise<void> {
  const program = await bundle(MAIN, 'blocks-controller')
  const ground = await startGround('generated', { bare: true })
  const client = new Client(ground.server, AT_ONCE + 1)
  const start = () => new ControllerProcess(program, ground.kubeconfig, ['--ledger', 'blocks'])
  const processes = Array.from({ length: PROCESSES }, start)
  try {
    await report.test(
      `kubernetes: ${PROCESSES} controllers bind ${claims} claims, and ${kills} of them are killed`,
      async () => {
        await makePools(client, NAMESPACE, POOLS, PREFIX)
        const bound = await watchBound(client, NAMESPACE)
        const wait = (count: number) => untilBoundBy(processes, bound, count)
        const startMs = performance.now()
        const numbers = Array.from({ length: claims }, (_, nth) => nth)
        const wanted = numbers.map((nth) => claimOf({ namespace: NAMESPACE, name: `claim-${nth}`, pool: nth % POOLS }))
        await createClaims(client, wanted)
        const madeMs = performance.now() - startMs
        for (let kill = 1; kill <= kills; kill++) {
          await wait(Math.floor((claims * kill) / (kills + 1)))
          const at = kill % PROCESSES
          await processes[at]?.stop('SIGKILL')
          processes[at] = start()
        }
        await wait(claims)
        bound.stop()
        const times = [...bound.atMs.values()].map((atMs) => atMs - startMs)
        const [firstMs, lastMs] = [Math.min(...times), Math.max(...times)]
        await untilSwept(client, claims)
        const seconds = (ms: number) => (ms / 1000).toFixed(1)
        return `made in ${seconds(madeMs)} s; the first bound after ${seconds(firstMs)} s, the last after ${seconds(lastMs)} s; ${(claims / (lastMs / 1000)).toFixed(1)} claims a second`
      },
    )
  } finally {
    for (const process of processes) await process.stop()
    client.close()
    await ground.server.stop()
  }
}

function untilBoundBy(processes: readonly ControllerProcess[], bound: BoundClaims, count: number): Promise<void> {
  const lines = () => processes.flatMap(({ lines }) => lines.slice(-10))
  return untilBound(bound, count, { seconds: PATIENCE_SECONDS, lines })
}

/**
 * Every claim has one address, no two have the same, and each has one row: those that a killed
 * process has left are swept.
 */
async function untilSwept(client: Client, count: number): Promise<void> {
  await assertDistinct(client, NAMESPACE, count)
  let rows = 0
  await waitFor(
    async () => {
      rows = (await client.list(BLOCKS)).reduce((sum, { spec }) => sum + Object.keys((spec as Rows).rows).length, 0)
      if (rows !== count) await pause(1000)
      return rows === count || undefined
    },
    { seconds: PATIENCE_SECONDS, else: 'there are rows without an address', explain: () => `${rows} rows` },
  )
}

interface Rows {
  readonly rows: { readonly [unit: string]: unknown }
}
