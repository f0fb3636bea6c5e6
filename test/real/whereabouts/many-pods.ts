import assert from 'node:assert/strict'
import type { Client } from '../controller/client.js'
import { ControllerProcess } from '../controller/process.js'
import type { Depth, Report } from '../report.js'
import { createNamespaces, createPods, deletePod } from '../selection/pods.js'
import type { RealKubernetes } from '../servers/kubernetes.js'
import { run, waitFor } from '../servers/tools.js'
import { NAMESPACE, POOLS, storedRows } from './ground.js'
import type { Controllers } from './sweeps.js'

interface Size {
  readonly pods: number
  /**
   * Memory of whole Pods, at least, as a multiple of that of the sweep. With few Pods, memory of
   * the process itself is a part of both.
   */
  readonly memoryRatio: number
}

const SIZES: { readonly [D in Depth]: Size } = {
  full: { pods: 30_000, memoryRatio: 8 },
  short: { pods: 3000, memoryRatio: 3 },
}
const ROWS_PER_POOL = 4000
/** Of how many Pods one is deleted. */
const DELETE_EVERY = 100
const SECONDS = 300

export interface ManyPods {
  readonly server: RealKubernetes
  readonly admin: Client
  readonly controllers: Controllers
  /** The bundled sweep-reader.ts. */
  readonly reader: string
}

/** The sweep beside as many Pods as a large cluster has. */
export async function manyPods(
  report: Report,
  { server, admin, controllers, reader }: ManyPods,
  depth: Depth,
): Promise<void> {
  const { pods, memoryRatio } = SIZES[depth]
  const keys: string[] = []
  const isCreated = await report.test(`${pods} Pods are created`, async () => {
    await createNamespaces(server)
    keys.push(...(await createPods(admin, [...Array(pods).keys()])).map(({ key }) => key))
    return undefined
  })
  if (!isCreated) return
  await report.test(`the sweep takes at most a part of the memory of whole Pods: 1 of ${memoryRatio}`, async () => {
    const heapOf = async (variant: string) => {
      const args = ['--expose-gc', '--max-old-space-size=4096', reader, server.kubeconfig.path, variant]
      return Number(await run(process.execPath, args, { seconds: SECONDS }))
    }
    const [sweep, whole] = [await heapOf('sweep'), await heapOf('whole')]
    assert(whole / sweep >= memoryRatio, `${(whole / sweep).toFixed(1)} times`)
    return `${megabytes(sweep)} against ${megabytes(whole)}: ${(whole / sweep).toFixed(1)} times`
  })
  await report.test(`of ${pods} rows, those of deleted Pods are freed`, async () => {
    await makePools(admin, keys)
    const gone = keys.filter((_, nth) => nth % DELETE_EVERY === 0)
    const [before, later] = [gone.slice(0, gone.length / 2), gone.slice(gone.length / 2)]
    for (const key of before) await deletePod(admin, key)
    const process = new ControllerProcess(controllers.program, controllers.kubeconfig)
    const until = (freed: number) =>
      waitFor(async () => (await rowsOfPods(admin)).length === pods - freed || undefined, {
        seconds: SECONDS,
        else: `there are not ${pods - freed} rows`,
        explain: () => process.lines.slice(-20).join('\n'),
      })
    await until(before.length)
    const start = performance.now()
    for (const key of later) await deletePod(admin, key)
    await until(gone.length)
    const ms = Math.round(performance.now() - start)
    const podrefs = new Set((await rowsOfPods(admin)).map(({ podref }) => podref))
    assert.deepEqual(
      gone.filter((key) => podrefs.has(key)),
      [],
    )
    assert.equal(await process.stop(), 0)
    return `${before.length} after the start, ${later.length} in ${ms} ms after their Pods`
  })
}

async function rowsOfPods(admin: Client) {
  return (await storedRows(admin)).filter(({ pool }) => pool.startsWith('10.128.'))
}

async function makePools(admin: Client, keys: readonly string[]): Promise<void> {
  for (let first = 0; first < keys.length; first += ROWS_PER_POOL) {
    const range = `10.128.${(first / ROWS_PER_POOL) * 16}.0/20`
    const rows = keys.slice(first, first + ROWS_PER_POOL).map((podref, nth) => {
      return [String(nth + 1), { id: `container-${first + nth}`, podref, ifname: 'net1' }] as const
    })
    const [apiVersion, kind] = ['whereabouts.cni.cncf.io/v1alpha1', 'IPPool']
    const metadata = { name: range.replace('/', '-'), namespace: NAMESPACE }
    await admin.send('POST', POOLS, {
      body: { apiVersion, kind, metadata, spec: { range, allocations: Object.fromEntries(rows) } },
    })
  }
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}
