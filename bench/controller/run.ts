// npm run bench:controller -- [--no-gate] [--json FILE] [--page FILE]
//
// The controller of docs/examples on a real API server, which is built or found, started and stopped here, beside a client that does nothing but the
// three writes that a claim takes.
import { parseArgs } from 'node:util'
import { bundle } from '../../test/real/bundle.js'
import { MAIN, startGround } from '../../test/real/controller/ground.js'
import { installClients } from '../../test/real/servers/install.js'
import { readBudget } from '../budget.js'
import { Gate } from '../gate.js'
import { measurement } from '../harness.js'
import { nodeName } from '../page.js'
import { OPTIONS, Report } from '../report.js'
import { CLAIMS, POOLS, type Round, Rounds } from './rounds.js'

const { values } = parseArgs({ options: OPTIONS })
const ROUNDS = 3
const IN_USE = 20_000
const BARE = 'bare client'
const EMPTY = `bind ${CLAIMS} claims over ${POOLS} empty pools`
const FULL = `bind ${CLAIMS} claims over ${POOLS} pools with ${IN_USE.toLocaleString('en')} addresses in use`

const budget = readBudget()
const gate = new Gate(budget, budget.controller.goals)
const report = new Report()

await installClients()
const program = await bundle(MAIN, 'controller')
const ground = await startGround('upstream', { bare: true })
const rounds = new Rounds(ground, program)
try {
  const writes: number[] = []
  let emptyNs = Number.POSITIVE_INFINITY
  /** Both sides in turn, the best of each. */
  const measure = async (work: string, where?: string) => {
    const best = { ours: Number.POSITIVE_INFINITY, bare: Number.POSITIVE_INFINITY }
    for (let round = 0; round < ROUNDS; round++) {
      best.bare = Math.min(best.bare, asNs(await rounds.bare()))
      const ours = await rounds.controlled(where)
      best.ours = Math.min(best.ours, asNs(ours))
      writes.push(ours.writes / CLAIMS)
    }
    return { work, ...best }
  }
  for (const result of await gate.measure(EMPTY, [BARE], async () => {
    const { work, ours, bare } = await measure(EMPTY)
    emptyNs = Math.min(emptyNs, ours)
    return [measurement(work, BARE, ours, bare)]
  })) {
    report.ratio(result)
  }
  const full = await rounds.filled(IN_USE)
  const peers = [BARE, 'itself with empty pools']
  for (const result of await gate.measure(FULL, peers, async (wanted) => {
    const { work, ours, bare } = await measure(FULL, full)
    return peers
      .map((peer) => measurement(work, peer, ours, peer === BARE ? bare : emptyNs))
      .filter(({ peer }) => wanted.includes(peer))
  })) {
    report.ratio(result)
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
  rounds.close()
  await ground.server.stop()
}
const about = `Each claim from its creation to the watch event that it is bound, beside ${ROUNDS} rounds of a client that has nothing to decide. Measured with Kubernetes ${ground.server.version}.`
report.finish(gate, `The example controller on a real API server, ${nodeName()}`, { ...values, about })

/** The time of one claim. */
function asNs({ seconds }: Round): number {
  return (seconds * 1e9) / CLAIMS
}
