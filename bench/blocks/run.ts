// npm run bench:blocks -- [--counts] [--no-gate] [--json FILE] [--page FILE]
//
// Four processes take addresses of one pool on a real API server, which is built or found, started
// and stopped here: of blocks, and beside that of one object that has all rows, as whereabouts does
// it (bench/blocks/peer). With --counts on any machine, however busy: one round with few addresses
// given, the requests of an allocation as ever, and its time only where it is ten times below the
// floor.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { installKinds, openStore } from '../../test/real/blocks/ground.js'
import { bundle } from '../../test/real/bundle.js'
import { importClient, installClients } from '../../test/real/servers/install.js'
import { startKubernetes } from '../../test/real/servers/kubernetes.js'
import { readBudget } from '../budget.js'
import { Gate, heldBy } from '../gate.js'
import { type Measurement, measurement } from '../harness.js'
import { nodeName } from '../page.js'
import { asTime, OPTIONS, Report } from '../report.js'
import { measureClaims } from './claims.js'
import { definition } from './peer/pool.js'
import { Processes, type Round } from './processes.js'
import { Rounds } from './rounds.js'

const { values } = parseArgs({ options: OPTIONS })
const ROUNDS = values.counts === true ? 1 : 3
const PEER = 'single object'
const ITSELF = 'itself with an empty pool'
/**
 * How many addresses were given before, and how many each process of the peer takes: it becomes
 * slow.
 */
const FILLS = [
  { rows: 0, theirs: 25 },
  { rows: 500, theirs: 8 },
  { rows: 2000, theirs: 3 },
  { rows: 8000, theirs: 2 },
] as const
/** How many of them are measured for counts. */
const FEW = 2
const OURS = 60
const WARM_UP = 10
const LARGEST = Math.max(...FILLS.map(({ rows }) => rows))

const budget = readBudget()
const gate = new Gate(budget, budget.blocks.goals, { held: heldBy(values) })
const report = new Report()

await installClients()
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const programs = {
  ours: await bundle(file('writer.ts'), 'bench-blocks'),
  peer: await bundle(file('peer/writer.ts'), 'bench-blocks-peer'),
}
const server = await startKubernetes({ bare: true })
const running: { stop(): void }[] = []
try {
  await installKinds(server)
  await server.apply(definition)
  const access = join(server.folder, 'access.json')
  const { url, ca, clientCert, clientKey } = server
  writeFileSync(access, JSON.stringify({ url, ca, clientCert, clientKey }), { mode: 0o600 })
  const ours = new Processes(programs.ours, [server.kubeconfig.path])
  const theirs = new Processes(programs.peer, [access])
  running.push(ours, theirs)
  await Promise.all([ours.ready(), theirs.ready()])
  const { store } = await openStore('kubernetes', server.kubeconfig.path, importClient)
  const rounds = new Rounds(server, store)
  // code that has run before is faster: neither side is measured without
  await rounds.ours(ours, 0, OURS)
  await rounds.peer(theirs, 0, WARM_UP)
  const most: number[] = []
  for (const { rows, theirs: each } of values.counts === true ? FILLS.slice(0, FEW) : FILLS) {
    const work = `allocate with ${rows.toLocaleString('en')} addresses given`
    const seen = { ours: [] as Round[], peer: [] as Round[] }
    const peers = rows === LARGEST ? [PEER, ITSELF] : [PEER]
    for (const result of await gate.measure(work, peers, async (wanted) => {
      const best = { ours: Number.POSITIVE_INFINITY, peer: Number.POSITIVE_INFINITY, itself: Number.POSITIVE_INFINITY }
      for (let round = 0; round < ROUNDS; round++) {
        const own = await rounds.ours(ours, rows, OURS)
        seen.ours.push(own)
        best.ours = Math.min(best.ours, asNs(own))
        if (wanted.includes(ITSELF)) best.itself = Math.min(best.itself, asNs(await rounds.ours(ours, 0, OURS)))
        if (!wanted.includes(PEER)) continue
        const peer = await rounds.peer(theirs, rows, each)
        seen.peer.push(peer)
        best.peer = Math.min(best.peer, asNs(peer))
      }
      return wanted.map((peer): Measurement => {
        return measurement(work, peer, best.ours, peer === PEER ? best.peer : best.itself)
      })
    })) {
      report.ratio(result)
    }
    most.push(detail(rows, seen))
  }
  const { requestsPerAllocation } = budget.blocks
  const highest = Math.max(...most)
  if (!(highest <= requestsPerAllocation)) {
    gate.fail(`${highest.toFixed(2)} requests for an allocation are above ${requestsPerAllocation}`)
  }
  rounds.close()
} finally {
  for (const each of running) each.stop()
  await server.stop()
}
await measureClaims({ gate, report, budget: budget.blocks, isShort: values.counts === true })
const about = `Four processes that take addresses of one pool at once, one after the other each, best of ${ROUNDS} rounds. The peer writes one object with all rows as whereabouts does, and does less: no lease, no list of all pools, no object for each address, and after a conflict it waits. Claims wait all at once, and become Bound by example controllers of eight plans at a time, or by a client that does the same writes for 32 claims at a time. Measured with Kubernetes ${server.version}.`
report.finish(gate, `Blocks on a real API server, ${nodeName()}`, { ...values, about })

/** Writes what one allocation took, over all rounds. @returns our requests for each */
function detail(
  rows: number,
  { ours, peer }: { readonly ours: readonly Round[]; readonly peer: readonly Round[] },
): number {
  const given = `${rows.toLocaleString('en')} addresses given`
  for (const part of [0.5, 0.99]) {
    const [own, other] = [quantile(ours, part), quantile(peer, part)]
    const name = `p${part * 100} of an allocation, ${given}`
    report.row({ work: name, peer: PEER, oursNs: own, theirsNs: other }, [
      name,
      PEER,
      asTime(own),
      asTime(other),
      '-',
      '-',
      '-',
    ])
  }
  const name = `requests for an allocation, ${given}`
  const [own, other] = [mean(ours, 'requests'), mean(peer, 'requests')]
  const conflicts = { ours: mean(ours, 'conflicts'), peer: mean(peer, 'conflicts') }
  const { requestsPerAllocation } = budget.blocks
  const cells = [name, PEER, own.toFixed(2), other.toFixed(2), '-', '-', `at most ${requestsPerAllocation}`]
  report.row({ work: name, peer: PEER, ours: own, theirs: other, conflicts }, cells)
  return own
}

function quantile(rounds: readonly Round[], part: number): number {
  const all = rounds.flatMap(({ ms }) => ms).sort((left, right) => left - right)
  return all[Math.floor(all.length * part)]! * 1e6
}

function mean(rounds: readonly Round[], field: 'requests' | 'conflicts'): number {
  const sum = (of: 'requests' | 'conflicts' | 'count') => rounds.reduce((total, round) => total + round[of], 0)
  return sum(field) / sum('count')
}

/** The time of one allocation. */
function asNs({ seconds, count }: Round): number {
  return (seconds * 1e9) / count
}
