// npm run bench -- [--counts] [--only TEXT] [--no-gate] [--json FILE] [--page FILE]
//
// The same work with libraries of JavaScript, the longest turn of the event loop while a controller starts, the memory that values take, and requests to an API server. With --counts on any machine, however busy: each row is measured
// once, and fails only where it is ten times below its floor; rows that take long to prepare are left out; bytes are held as ever.
import { parseArgs } from 'node:util'
import { readBudget } from './budget.js'
import { asRatio, Gate, heldBy } from './gate.js'
import { measure, ROUNDS } from './harness.js'
import { measureMemory } from './memory.js'
import { nodeName } from './page.js'
import { asBytes, OPTIONS, Report } from './report.js'
import { countRequests } from './requests.js'
import { IN_ONE_TURN, longestTurn, starts } from './start/turns.js'
import { longWorks, works } from './works.js'

const { values } = parseArgs({ options: OPTIONS })
const isWanted = (name: string) => values.only === undefined || name.includes(values.only)

const budget = readBudget()
const gate = new Gate(budget, budget.goals, { held: heldBy(values) })
const report = new Report()
const rounds = values.counts === true ? 1 : ROUNDS

const all = [...works, ...longWorks]
for (const work of (values.counts === true ? works : all).filter(({ name }) => isWanted(name))) {
  for (const result of await gate.measure(work.name, Object.keys(work.peers), (peers) =>
    measure(work, peers, rounds),
  )) {
    report.ratio(result)
  }
}
for (const start of starts.filter(({ name }) => isWanted(name))) {
  for (const result of await gate.measure(start.name, [IN_ONE_TURN], () => [longestTurn(start)])) report.ratio(result)
}
for (const [name, goals] of Object.entries(budget.goals)) {
  const work = all.find((known) => known.name === name)
  const isStart = starts.some((start) => start.name === name)
  if (work === undefined && !isStart) gate.fail(`${name}: in bench/budget.json, and no such benchmark`)
  for (const peer of Object.keys(work === undefined && !isStart ? {} : goals)) {
    const isKnown = isStart ? peer === IN_ONE_TURN : work?.peers[peer] !== undefined
    if (!isKnown) gate.fail(`${name}: ${peer} is in bench/budget.json, and no such peer`)
  }
}

const measured = Object.keys(budget.bytes).some(isWanted) ? measureMemory() : []
for (const memory of measured) {
  const { what, bytes } = memory
  const target = budget.bytes[what]
  const beside = measured.find((other) => other.what === target?.of)
  const held = target?.of === undefined ? bytes : bytes / (beside?.bytes ?? 0)
  if (target === undefined) gate.fail(`${what}: no goal in bench/budget.json`)
  else if (!(held <= target.most)) gate.fail(`${what}: ${asBytes(bytes)}: ${held} is more than ${target.most}`)
  const limits = target === undefined ? ['-', '-'] : [`at most ${target.goal}`, `at most ${target.most}`]
  const of = beside === undefined ? ['-', '-', '-'] : [beside.what, asBytes(beside.bytes), held.toFixed(3)]
  report.row({ ...memory, ...target }, [what, of[0]!, asBytes(bytes), of[1]!, of[2]!, ...limits])
}
for (const what of Object.keys(budget.bytes)) {
  if (!measured.some((memory) => memory.what === what) && isWanted(what)) {
    gate.fail(`${what}: in bench/budget.json, and is not measured`)
  }
}

for (const { what, requests } of await countRequests()) {
  if (!isWanted(what)) continue
  const target = budget.requests[what]
  if (target === undefined) gate.fail(`${what}: no goal in bench/budget.json`)
  else if (requests > target.goal) gate.fail(`${what}: ${requests} is more than ${target.goal}`)
  const { upstream, goal } = target ?? { upstream: Number.NaN, goal: Number.NaN }
  const cells = [`${requests}`, `${upstream}`, asRatio(upstream / requests), `at most ${goal}`, `at most ${goal}`]
  report.row({ what, requests, ...target }, [what, 'upstream', ...cells])
}

report.finish(gate, nodeName(), values)
