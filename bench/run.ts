// npm run bench -- [--only TEXT] [--no-gate] [--json FILE] [--page FILE]
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { table } from 'ipam-kit/render'
import { goalOf, peersOf, readBudget } from './budget.js'
import { type Measurement, measure, type Row } from './harness.js'
import { writeTable } from './page.js'
import { rows } from './rows.js'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    'no-gate': { type: 'boolean' },
    json: { type: 'string' },
    page: { type: 'string' },
  },
})

const budget = readBudget()
const ATTEMPTS = 3

const measured: Measurement[] = []
const failed: string[] = []
for (const row of rows.filter(({ name }) => values.only === undefined || name.includes(values.only))) {
  const results = measureWithin(row)
  for (const result of results) {
    measured.push(result)
    console.error(JSON.stringify({ node: process.version, ...result, goal: goalOf(budget, row.name, result.peer) }))
  }
  failed.push(...results.flatMap(problemOf))
  for (const peer of peersOf(budget, row.name)) {
    if (!results.some((result) => result.peer === peer)) failed.push(`${row.name}: has no peer ${peer}`)
  }
}
for (const name of Object.keys(budget.floors)) {
  if (!rows.some((row) => row.name === name)) failed.push(`${name}: in bench/budget.json, and no such benchmark`)
}

const head = ['work', 'peer', 'ours', "peer's time", 'ratio', 'goal']
const lines = measured.map(cells)
console.log(
  table(
    head.map((word) => word.toUpperCase()),
    lines,
  ),
)
if (values.json !== undefined)
  writeFileSync(values.json, measured.map((result) => `${JSON.stringify(result)}\n`).join(''))
if (values.page !== undefined) writeTable(values.page, head, lines)
if (values['no-gate'] !== true && failed.length > 0) {
  console.log(`\nbelow the floor, with ${budget.slack * 100} % slack:\n${failed.join('\n')}`)
  process.exitCode = 1
}

/** A row below a floor is measured again before it counts: a machine that was busy for a moment is no regression. */
function measureWithin(row: Row): Measurement[] {
  let best = measure(row)
  for (let attempt = 1; attempt < ATTEMPTS && best.some(isBelow); attempt++) {
    const again = measure(row)
    best = best.map((result, i) => (again[i]!.ratio > result.ratio ? again[i]! : result))
  }
  return best
}

function floorOf(result: Measurement): number | undefined {
  const goal = goalOf(budget, result.name, result.peer)
  return goal === undefined ? undefined : goal * (1 - budget.slack)
}

function isBelow(result: Measurement): boolean {
  return result.ratio < (floorOf(result) ?? 0)
}

function problemOf(result: Measurement): string[] {
  const floor = floorOf(result)
  if (floor === undefined) return [`${result.name}: no floor for ${result.peer} in bench/budget.json`]
  if (!isBelow(result)) return []
  return [`${result.name}: ${ratio(result.ratio)} of ${result.peer} is below ${ratio(floor)}`]
}

function cells(result: Measurement): string[] {
  const goal = goalOf(budget, result.name, result.peer)
  return [
    result.name,
    result.peer,
    time(result.oursNs),
    time(result.theirsNs),
    ratio(result.ratio),
    goal === undefined ? '-' : ratio(goal),
  ]
}

function time(ns: number): string {
  if (ns < 1000) return `${ns.toFixed(0)} ns`
  return ns < 1e6 ? `${(ns / 1000).toFixed(1)} µs` : `${(ns / 1e6).toFixed(2)} ms`
}

function ratio(value: number): string {
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)}x`
}
