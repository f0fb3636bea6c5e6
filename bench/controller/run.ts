// npm run bench:controller -- [--counts] [--no-gate] [--json FILE] [--page FILE]
//
// The controller of docs/examples on a real API server, which is built or found, started and
// stopped here, beside a client that does nothing but the three writes that a claim takes. With
// --counts on any machine, however busy: one round with empty pools, the writes of a claim as ever,
// and its time only where it is ten times below the floor. Then the node IPAM controller of
// docs/examples, beside a client that is as slow as node-ipam-controller.
import { parseArgs } from 'node:util'
import { bundle } from '../../test/real/bundle.js'
import { type Ground, MAIN, startGround } from '../../test/real/controller/ground.js'
import { EXAMPLE } from '../../test/real/node-ipam/traces.js'
import { installClients } from '../../test/real/servers/install.js'
import { readBudget } from '../budget.js'
import { Gate, heldBy } from '../gate.js'
import { measurement } from '../harness.js'
import { nodeName } from '../page.js'
import { OPTIONS, Report } from '../report.js'
import { CLAIMS, POOLS, type Round, Rounds } from './rounds.js'
import { NodeRounds } from './subnets.js'

const { values } = parseArgs({ options: OPTIONS })
const ROUNDS = values.counts === true ? 1 : 3
const IN_USE = 20_000
const BARE = 'bare client'
const ITSELF = 'itself with empty pools'
const EMPTY = `bind ${CLAIMS} claims over ${POOLS} empty pools`
const FULL = `bind ${CLAIMS} claims over ${POOLS} pools with ${IN_USE.toLocaleString('en')} addresses in use`

const NODES = 500
/** So many Nodes at the rate of node-ipam-controller: it takes a fifth of a second for each. */
const LIMITED_NODES = values.counts === true ? 20 : 100
const LIMITED = 'replay of the rate of node-ipam-controller'
const SUBNETS = `give ${NODES} Nodes subnets of both families`

const budget = readBudget()
const gate = new Gate(budget, budget.controller.goals, { held: heldBy(values) })
const report = new Report()

await installClients()
const program = await bundle(MAIN, 'controller')
const nodeProgram = await bundle(EXAMPLE.main, 'node-ipam')
const grounds: Ground[] = []
const all: Rounds[] = []
const begin = async () => {
  const ground = await startGround('upstream', { bare: true })
  grounds.push(ground)
  const rounds = new Rounds(ground, program)
  all.push(rounds)
  return rounds
}
try {
  const empty = await begin()
  const writes: number[] = []
  const bestOf = async (sides: readonly (() => Promise<Round>)[]) => {
    const best = sides.map(() => Number.POSITIVE_INFINITY)
    for (let round = 0; round < ROUNDS; round++) {
      for (const [side, work] of sides.entries()) best[side] = Math.min(best[side]!, asNs(await work()))
    }
    return best
  }
  const controlled = (rounds: Rounds, namespace?: string) => async () => {
    const round = await rounds.controlled(namespace)
    writes.push(round.writes / CLAIMS)
    return round
  }
  for (const result of await gate.measure(EMPTY, [BARE], async () => {
    const [bare, ours] = await bestOf([() => empty.bare(), controlled(empty)])
    return [measurement(EMPTY, BARE, ours!, bare!)]
  })) {
    report.ratio(result)
  }
  if (values.counts !== true) {
    // a second server, so that both states of the pools are measured in turn
    const filled = await begin()
    const namespace = await filled.filled(IN_USE)
    for (const result of await gate.measure(FULL, [BARE, ITSELF], async (wanted) => {
      const [bare, itself, ours] = await bestOf([() => filled.bare(), controlled(empty), controlled(filled, namespace)])
      const results = [measurement(FULL, BARE, ours!, bare!), measurement(FULL, ITSELF, ours!, itself!)]
      return results.filter(({ peer }) => wanted.includes(peer))
    })) {
      report.ratio(result)
    }
  }
  const most = Math.max(...writes)
  const { writesPerClaim } = budget.controller
  report.row({ writesPerClaim: most }, [
    'writes for a claim, at most',
    '-',
    most.toFixed(2),
    '-',
    '-',
    '-',
    `${writesPerClaim}`,
  ])
  if (!(most <= writesPerClaim)) gate.fail(`${most.toFixed(2)} writes for a claim are above ${writesPerClaim}`)
} finally {
  for (const rounds of all) rounds.close()
  for (const { server } of grounds) await server.stop()
}
await nodeRows()
const about = `Each claim from its creation to the watch event that it is bound, beside ${ROUNDS} rounds of a client that has nothing to decide. Nodes join while the controller runs; the peer patches fewer of them, 5 a second after the first 10, which is counted up. Measured with Kubernetes ${grounds[0]!.server.version}.`
report.finish(gate, `The example controller on a real API server, ${nodeName()}`, { ...values, about })

/** Subnets of Nodes, on a server of their own. */
async function nodeRows(): Promise<void> {
  const rounds = await NodeRounds.open(nodeProgram)
  const most = { patches: 0, reads: 0 }
  try {
    for (const result of await gate.measure(SUBNETS, [LIMITED], async () => {
      const limited = await rounds.limited(NODES, LIMITED_NODES)
      let best = Number.POSITIVE_INFINITY
      for (let round = 0; round < ROUNDS; round++) {
        const { seconds, patches, reads } = await rounds.controlled(NODES)
        best = Math.min(best, seconds)
        most.patches = Math.max(most.patches, patches / NODES)
        most.reads = Math.max(most.reads, reads / NODES)
      }
      return [measurement(SUBNETS, LIMITED, (best * 1e9) / NODES, (limited * 1e9) / NODES)]
    })) {
      report.ratio(result)
    }
  } finally {
    await rounds.close()
  }
  for (const [name, limit] of Object.entries(budget.controller.requestsPerNode)) {
    const found = most[name as keyof typeof most]
    report.row({ [name]: found }, [`${name} of a Node, at most`, '-', found.toFixed(2), '-', '-', '-', `${limit}`])
    if (!(found <= limit)) gate.fail(`${found.toFixed(2)} ${name} of a Node are above ${limit}`)
  }
}

/** The time of one claim. */
function asNs({ seconds }: Round): number {
  return (seconds * 1e9) / CLAIMS
}
