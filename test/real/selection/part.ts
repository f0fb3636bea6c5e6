import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { nodeName } from '../../../bench/page.js'
import { bundle } from '../bundle.js'
import { Client } from '../controller/client.js'
import type { Depth, Part, Report } from '../report.js'
import { clientVersion, installClients } from '../servers/install.js'
import { type RealKubernetes, startKubernetes } from '../servers/kubernetes.js'
import { run } from '../servers/tools.js'
import { losesLabel } from './labels.js'
import { PAGE, pagesFor } from './pages.js'
import { APP, appOf, type Created, createNamespaces, createPods, digestOf, nodeOf } from './pods.js'
import { recovers } from './recovery.js'
import type { Measured, Variant } from './variant.js'

const READER_SECONDS = 300

interface Size {
  readonly pods: number
  /** How often each way of reading is measured: the fastest run counts. */
  readonly rounds: number
  /**
   * Memory of trimmed Pods, at most, as a part of the memory of whole ones. With few Pods, memory
   * of the process itself is a part of both.
   */
  readonly memoryRatio: number
  /**
   * Peak of a paged list, at most, as a part of the peak of one request. Not held with few Pods.
   */
  readonly peakRatio: number | undefined
}

const SIZES: { readonly [D in Depth]: Size } = {
  full: { pods: 30_000, rounds: 3, memoryRatio: 1 / 10, peakRatio: 1 / 3 },
  short: { pods: 3000, rounds: 1, memoryRatio: 1 / 4, peakRatio: undefined },
}

const HEAD = ['what a planner watches', 'Pods', 'requests', 'JSON', 'memory', 'peak', 'CPU', 'time']

/** Selections of Pods through informers and the Kubernetes store. */
export const selection: Part = {
  name: 'selection',
  about: 'Pods on a real API server, selected, trimmed and paged, are those that exist, also after a 410',
  place: 'alone',
  async run(report, depth) {
    await installClients()
    const program = await bundle(fileURLToPath(new URL('reader.ts', import.meta.url)), 'pod-reader')
    const server = await startKubernetes({ bare: true })
    try {
      const size = SIZES[depth]
      const created: Created[] = []
      await report.test(`${size.pods} Pods are created`, async () => {
        created.push(...(await createAll(server, size.pods)))
        return undefined
      })
      await reads(report, { server, program, created, size })
      await losesLabel(report, server, created)
      await recovers(
        report,
        server,
        created.filter((pod) => !ofApp(pod)),
      )
    } finally {
      await server.stop()
    }
  },
}

async function createAll(server: RealKubernetes, count: number): Promise<readonly Created[]> {
  await createNamespaces(server)
  const admin = new Client(server, 32)
  try {
    return await createPods(admin, [...Array(count).keys()])
  } finally {
    admin.close()
  }
}

interface Setup {
  readonly server: RealKubernetes
  readonly program: string
  readonly created: readonly Created[]
  readonly size: Size
}

async function reads(report: Report, { server, program, created, size }: Setup): Promise<void> {
  const node = nodeOf(size.pods / 2)
  const ofNode = ({ number }: Created) => nodeOf(number) === node
  const rows: string[][] = []
  const read = async (
    what: string,
    variant: Variant,
    isSelected: (pod: Created) => boolean = () => true,
  ): Promise<Measured> => {
    let measured: Measured | undefined
    await report.test(what, async () => {
      const args = ['--expose-gc', program, server.kubeconfig.path, JSON.stringify(variant)]
      const all: Measured[] = []
      for (let round = 0; round < size.rounds; round++) {
        all.push(JSON.parse(await run(process.execPath, args, { seconds: READER_SECONDS })))
      }
      measured = all.sort((one, other) => one.ms - other.ms)[0]!
      const expected = created.filter(isSelected)
      assert.ok(expected.length > 0)
      const { pods, digest, requests } = measured
      assert.deepEqual({ pods, digest }, { pods: expected.length, digest: digestOf(expected) })
      assert.equal(requests, variant.inOneRequest ? 1 : pagesFor(expected.length))
      rows.push([what, ...cellsOf(measured)])
      return `${cellsOf(measured).slice(1).join(', ')}`
    })
    if (measured === undefined) throw new Error(`${what}: nothing was measured`)
    return measured
  }
  const whole = await read('all Pods, in one request', { isTrimmed: false, inOneRequest: true })
  const paged = await read(`all Pods, in pages of ${PAGE}`, { isTrimmed: false, inOneRequest: false })
  const trimmed = await read('all Pods with `keep`, in one request', { isTrimmed: true, inOneRequest: true })
  const both = await read(`all Pods with \`keep\`, in pages of ${PAGE}`, { isTrimmed: true, inOneRequest: false })
  const selected = { isTrimmed: false, inOneRequest: false }
  const byLabel = await read('Pods with a label', { ...selected, labels: { app: APP } }, ofApp)
  const byField = await read('Pods of a Node', { ...selected, fields: { 'spec.nodeName': node } }, ofNode)

  await report.test('what is selected and kept takes a part of the bytes and of the memory', () => {
    for (const { bytes, pods } of [byLabel, byField]) {
      assert.ok(bytes / whole.bytes < (2 * pods) / whole.pods, `${bytes} of ${whole.bytes} bytes`)
    }
    const memory = both.heapBytes / paged.heapBytes
    assert.ok(memory <= size.memoryRatio, `memory with keep: ${memory.toFixed(3)} of that without`)
    const peak = both.peakBytes / trimmed.peakBytes
    if (size.peakRatio !== undefined) assert.ok(peak <= size.peakRatio, `peak of pages: ${peak.toFixed(2)}`)
    const [cpu, time] = [both.cpuMs / paged.cpuMs, both.ms / paged.ms].map((ratio) => ratio.toFixed(2))
    return `with keep ${memory.toFixed(3)} of the memory, ${cpu} of the CPU and ${time} of the time; in pages ${peak.toFixed(2)} of the peak`
  })
  report.addSection({
    heading: 'Pods on a real API server',
    about: [
      `${count(size.pods)} Pods of ${count(whole.bytes / whole.pods)} bytes as JSON on average, listed by a \`Controller\` with one planner, in a process of its own.`,
      'JSON: what the API server answers, before compression. Memory: the heap after the list. Peak: the most memory of the process during the list.',
      'Both are above what the process had before the list. CPU: of the process, without the API server. Time: from the start to the end of the list.',
      `The fastest of ${size.rounds} runs. ${nodeName()}, client-node ${clientVersion('@kubernetes/client-node')}, Kubernetes ${server.version.replace(/^v/, '')}, all on a machine with two cores.`,
    ].join('\n'),
    head: HEAD,
    lines: rows,
    notes: [],
  })
}

function ofApp({ number }: Created): boolean {
  return appOf(number) === APP
}

function cellsOf({ pods, requests, bytes, heapBytes, peakBytes, cpuMs, ms }: Measured): string[] {
  const sizes = [bytes, heapBytes, peakBytes].map((size) => `${(size / 1e6).toFixed(1)} MB`)
  return [count(pods), count(requests), ...sizes, ...[cpuMs, ms].map((time) => `${(time / 1000).toFixed(2)} s`)]
}

function count(number: number): string {
  return Math.round(number).toLocaleString('en')
}
