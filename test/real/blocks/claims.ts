import assert from 'node:assert/strict'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { bundle } from '../bundle.js'
import { Client, eachOf } from '../controller/client.js'
import { MAIN, startGround } from '../controller/ground.js'
import { ControllerProcess } from '../controller/process.js'
import { pause } from '../pace.js'
import type { Report } from '../report.js'
import { waitFor } from '../servers/tools.js'

const PROCESSES = 3
const POOLS = 4
const AT_ONCE = 8
const NAMESPACE = 'default'
const GROUP = 'ipam.cluster.x-k8s.io'
const CLAIMS = `/apis/${GROUP}/v1beta2/namespaces/${NAMESPACE}/ipaddressclaims`
const ADDRESSES = `/apis/${GROUP}/v1beta2/namespaces/${NAMESPACE}/ipaddresses`
const IN_CLUSTER_POOLS = `/apis/${GROUP}/v1alpha2/namespaces/${NAMESPACE}/inclusterippools`
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
        await makePools(client)
        const bound = new Map<string, number>()
        const startMs = performance.now()
        const unwatch = await client.watch(CLAIMS, (_, { metadata, status }) => {
          const isBound = (status as { addressRef?: object } | undefined)?.addressRef !== undefined
          if (isBound && !bound.has(metadata.name)) bound.set(metadata.name, performance.now() - startMs)
        })
        await makeClaims(client, claims)
        const madeMs = performance.now() - startMs
        for (let kill = 1; kill <= kills; kill++) {
          await untilBound(bound, Math.floor((claims * kill) / (kills + 1)), processes)
          const at = kill % PROCESSES
          await processes[at]?.stop('SIGKILL')
          processes[at] = start()
        }
        await untilBound(bound, claims, processes)
        unwatch()
        const [firstMs = 0, lastMs = 0] = [Math.min(...bound.values()), Math.max(...bound.values())]
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

async function makePools(client: Client): Promise<void> {
  for (let nth = 0; nth < POOLS; nth++) {
    const spec = { addresses: [`10.${nth}.0.0/20`], prefix: 20, gateway: `10.${nth}.0.1` }
    const body = { apiVersion: `${GROUP}/v1alpha2`, kind: 'InClusterIPPool', metadata: { name: `p${nth}` }, spec }
    await client.send('POST', IN_CLUSTER_POOLS, { body })
  }
}

async function makeClaims(client: Client, count: number): Promise<void> {
  const numbers = Array.from({ length: count }, (_, nth) => nth)
  await eachOf(numbers, AT_ONCE, async (nth) => {
    const poolRef = { apiGroup: GROUP, kind: 'InClusterIPPool', name: `p${nth % POOLS}` }
    const body = {
      apiVersion: `${GROUP}/v1beta2`,
      kind: 'IPAddressClaim',
      metadata: { name: `claim-${nth}` },
      spec: { poolRef },
    }
    await client.send('POST', CLAIMS, { body })
  })
}

async function untilBound(
  bound: ReadonlyMap<string, number>,
  count: number,
  processes: readonly ControllerProcess[],
): Promise<void> {
  await waitFor(() => bound.size >= count || undefined, {
    seconds: PATIENCE_SECONDS,
    else: `${count} claims are not Bound`,
    explain: () => `${bound.size} are\n${processes.flatMap(({ lines }) => lines.slice(-10)).join('\n')}`,
  })
}

/** Every claim has one address, no two have the same, and each has one row: those that a killed process has left are swept. */
async function untilSwept(client: Client, count: number): Promise<void> {
  const addresses = (await client.list(ADDRESSES)).map(textOf)
  assert.equal(addresses.length, count)
  assert.equal(new Set(addresses).size, count)
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

function textOf({ spec }: KubeObject): string {
  const { address, poolRef } = spec as { address: string; poolRef: { name: string } }
  return `${poolRef.name} ${address}`
}
