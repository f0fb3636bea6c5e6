// npm run bench:cni -- [--counts] [--no-gate] [--json FILE] [--page FILE]
//
// The IPAM plugin of docs/examples/cni-plugin on a real API server, which is built or found, started
// and stopped here, beside a model of what whereabouts sends. With --counts on any machine, however
// busy: one round without the largest pool, and times only where they are ten times below the floor.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { exampleNamed } from '../../test/real/account.js'
import { installKinds, openStore } from '../../test/real/blocks/ground.js'
import { bundle } from '../../test/real/bundle.js'
import { DaemonProcess } from '../../test/real/cni/daemon-process.js'
import { plainKubeconfig } from '../../test/real/cni/ground.js'
import { addressesIn, callPlugin, type Subject } from '../../test/real/cni/runtime.js'
import { Client } from '../../test/real/controller/client.js'
import { importClient, installClients } from '../../test/real/servers/install.js'
import { startGround } from '../../test/real/whereabouts/ground.js'
import { readBudget } from '../budget.js'
import { Gate, heldBy } from '../gate.js'
import { type Measurement, measurement } from '../harness.js'
import { nodeName } from '../page.js'
import { OPTIONS, Report } from '../report.js'
import { addOnBlocks, countOf, makePools, networkOf } from './blocks.js'
import { addAsUpstream, makeLease, makePool } from './upstream.js'

const { values } = parseArgs({ options: OPTIONS })
const ROUNDS = values.counts === true ? 3 : 15
const WRITERS = 4
const EACH = values.counts === true ? 2 : 5
const MODEL = "model of upstream's ten requests"
const EMPTY = 'the same with 10 rows'
const NOTHING = 'node -e 0'

const sizes = new Map([
  ['10.60.0.0/16', 10],
  ['10.61.0.0/16', 4000],
  ...(values.counts === true ? [] : [['10.62.0.0/16', 50_000] as const]),
])
const [SMALL, LARGE] = ['10.60.0.0/16', '10.61.0.0/16'] as const

const budget = readBudget()
const gate = new Gate(budget, budget.cni, { held: heldBy(values) })
const report = new Report()
const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-bench-cni-'))
let named = 0
const nextName = () => `bench-${named++}`

await installClients()
const { main } = exampleNamed('cni-plugin', 'ipam-kit-cni')
const plugin = await bundle(main, 'bench-cni-plugin', { isPlugin: true })
const executable = ['--snapshot-blob', await snapshotOf(join(dirname(main), 'executable.ts'))]
const model = await bundle(fileURLToPath(new URL('upstream-process.ts', import.meta.url)), 'bench-cni-model')
const { server, admin } = await startGround()
const daemons: DaemonProcess[] = []
try {
  await installKinds(server)
  const kubeconfig = server.kubeconfig.path
  const { store } = await openStore('kubernetes', kubeconfig, importClient)
  await makePools(store, sizes)
  await makeLease(admin)
  for (const [range, rows] of sizes) if (rows < 10_000) await makePool(admin, range.replace('/', '-'), range, rows)
  const access = join(server.folder, 'access.json')
  const { url, ca, clientCert, clientKey } = server
  writeFileSync(access, JSON.stringify({ url, ca, clientCert, clientKey }), { mode: 0o600 })

  for (const [range, rows] of sizes) {
    if (rows === 10) continue
    if ((await countOf(store, range)) !== rows) throw new Error(`${range} has ${await countOf(store, range)} rows`)
    const work = `ADD on blocks, ${rows.toLocaleString('en')} rows`
    await judge(work, [EMPTY], async () => {
      const [ours, theirs] = await alternately([
        () => addOnBlocks(store, networkOf(range), nextName()),
        () => addOnBlocks(store, networkOf(SMALL), nextName()),
      ])
      return [[ours, theirs]]
    })
  }

  const socket = join(folder, 'run', 'socket')
  const daemon = new DaemonProcess(plugin, ['--daemon', socket])
  daemons.push(daemon)
  await daemon.start()
  const ipamOf = (range: string) => ({ type: 'ipam-kit', range, kubernetes: { kubeconfig } })
  const process_ = (range: string, args: readonly string[]) => async () => {
    const subject = { command: [process.execPath, ...args], ipam: ipamOf(range) } as unknown as Subject
    addressesIn(await callPlugin(subject, folder, 'ADD', { container: nextName() }))
  }
  const upstream = (range: string) => async () => {
    const child = spawn(process.execPath, [model, access, range.replace('/', '-'), nextName()], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`the model has ended with ${code}`)
  }
  const thick = [plugin, '--socket', socket]
  // until the daemon has listed
  for (let call = 0; call < 5; call++) await process_(SMALL, thick)()
  for (const [what, range, args] of [
    ['whole ADD, thin, 10 rows', SMALL, [plugin]],
    ['whole ADD, executable, 10 rows', SMALL, executable],
    ['whole ADD, shim and daemon, 10 rows', SMALL, thick],
    ['whole ADD, thin, 4,000 rows', LARGE, [plugin]],
    ['whole ADD, executable, 4,000 rows', LARGE, executable],
  ] as const) {
    await judge(what, [MODEL], async () => [await alternately([process_(range, args), upstream(range)])])
  }

  await judge(`ADDs by ${WRITERS} writers, 10 rows`, [MODEL], async () => {
    const blocks = await Promise.all(
      Array.from({ length: WRITERS }, async () => (await openStore('kubernetes', kubeconfig, importClient)).store),
    )
    const clients = blocks.map(() => new Client(server, 1))
    const adds = blocks.map((own, nth) => () => addOnBlocks(own, networkOf(SMALL), nextName(), `node-${nth}`))
    // the first ADD of a Node takes a block
    for (const add of adds) await add()
    const ours = await timeOf(adds)
    const pool = SMALL.replace('/', '-')
    const theirs = await timeOf(
      clients.map((client) => async () => {
        const name = nextName()
        await addAsUpstream(client, pool, { id: name.padEnd(64, '0'), podref: `default/${name}`, ifname: 'net1' })
      }),
    )
    for (const client of clients) client.close()
    return [[ours, theirs]]
  })

  for (const [what, args] of [
    ['start of the plugin to its first request', [plugin]],
    ['start of the executable to its first request', executable],
  ] as const) {
    await judge(what, [NOTHING], async () => [await starts(args)])
  }
} finally {
  for (const each of daemons) await each.kill()
  admin.close()
  await server.stop()
  rmSync(folder, { recursive: true })
}
const known = report.works
for (const work of Object.keys(budget.cni)) {
  const isLeftOut = values.counts === true && work.includes('50,000')
  if (!known.has(work) && !isLeftOut) gate.fail(`${work}: in bench/budget.json, and is not measured`)
}
const about = `The IPAM plugin of docs/examples/cni-plugin with Kubernetes ${server.version}, median of ${ROUNDS} calls that take turns. The model is a process of Node that sends what an ADD of whereabouts sends, and does nothing else. The executable is the same program, started from the memory of one whose modules are loaded.`
report.finish(gate, `The CNI plugin on a real API server, ${nodeName()}`, { ...values, about })

/** Measures one work, and writes its row. `once` returns our time and that of each peer, in milliseconds. */
async function judge(
  work: string,
  peers: readonly string[],
  once: () => Promise<readonly (readonly [number, number])[]>,
): Promise<void> {
  const results = await gate.measure(work, peers, async (wanted) => {
    const times = await once()
    return wanted.map((peer): Measurement => {
      const [ours, theirs] = times[peers.indexOf(peer)]!
      return measurement(work, peer, ours * 1e6, theirs * 1e6)
    })
  })
  for (const result of results) report.ratio(result)
}

/** The medians of two sides that take turns. */
async function alternately(sides: readonly [() => Promise<void>, () => Promise<void>]): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, side] of sides.entries()) {
      const start = performance.now()
      await side()
      times[index]!.push(performance.now() - start)
    }
  }
  return [medianOf(times[0]), medianOf(times[1])]
}

function medianOf(times: readonly number[]): number {
  return times.toSorted((left, right) => left - right)[times.length >> 1]!
}

/** The time of one ADD of several writers at once. */
async function timeOf(writers: readonly (() => Promise<void>)[]): Promise<number> {
  const start = performance.now()
  await Promise.all(
    writers.map(async (add) => {
      for (let nth = 0; nth < EACH; nth++) await add()
    }),
  )
  return (performance.now() - start) / (writers.length * EACH)
}

/** The memory with which the single executable starts: Node reads it from this file as well. */
async function snapshotOf(entry: string): Promise<string> {
  const program = await bundle(entry, 'bench-cni-executable', { isPlugin: true })
  const blob = join(folder, 'executable.blob')
  execFileSync(process.execPath, ['--snapshot-blob', blob, '--build-snapshot', program])
  return blob
}

/** From the start of a process of the plugin to its first request, and all of `node -e 0`. */
async function starts(args: readonly string[]): Promise<[number, number]> {
  let asked = () => {}
  const listener = createServer((_, response) => {
    asked()
    response.writeHead(404).end('{}')
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  const kubeconfig = plainKubeconfig(folder, `http://127.0.0.1:${port}`)
  const ipam = { type: 'ipam-kit', range: SMALL, kubernetes: { kubeconfig } }
  const subject = { command: [process.execPath, ...args], ipam } as unknown as Subject
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now()
    const first = new Promise<void>((resolve) => {
      asked = resolve
    })
    const ended = callPlugin(subject, folder, 'ADD', { container: nextName() })
    await first
    times[0].push(performance.now() - start)
    await ended
    const begun = performance.now()
    await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit')
    times[1].push(performance.now() - begun)
  }
  listener.close()
  listener.closeAllConnections()
  return [medianOf(times[0]), medianOf(times[1])]
}
