// npm run bench -- [--only TEXT] [--no-gate] [--json FILE] [--page FILE]
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { table } from 'ipam-kit/render'
import { type Measurement, measure } from './harness.js'
import { rows } from './rows.js'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    'no-gate': { type: 'boolean' },
    json: { type: 'string' },
    page: { type: 'string' },
  },
})

interface Budget {
  /** Part of a floor that noise may take. */
  readonly slack: number
  /** Least peer time / our time, by row. */
  readonly floors: { readonly [row: string]: number }
}

const budget = JSON.parse(readFileSync(new URL('./budget.json', import.meta.url), 'utf8')) as Budget
const ATTEMPTS = 3

/** A row below its floor is measured again before it counts: a machine that was busy for a moment is no regression. */
function measureWithin(name: string, floor: number | undefined): Measurement {
  const row = rows.find((candidate) => candidate.name === name)
  if (row === undefined) throw new Error(`no benchmark ${name}`)
  let best = measure(row)
  for (let attempt = 1; attempt < ATTEMPTS && floor !== undefined && best.ratio < floor; attempt++) {
    const again = measure(row)
    if (again.ratio > best.ratio) best = again
  }
  return best
}

const measured: Measurement[] = []
const lines: string[][] = []
const failed: string[] = []
for (const { name } of rows.filter((row) => values.only === undefined || row.name.includes(values.only))) {
  const goal = budget.floors[name]
  const floor = goal === undefined ? undefined : goal * (1 - budget.slack)
  const result = measureWithin(name, floor)
  measured.push(result)
  if (floor === undefined) failed.push(`${name}: no floor in bench/budget.json`)
  else if (result.ratio < floor) failed.push(`${name}: ${ratio(result.ratio)} is below ${ratio(floor)}`)
  lines.push([
    name,
    result.peer,
    time(result.oursNs),
    time(result.theirsNs),
    ratio(result.ratio),
    goal === undefined ? '-' : ratio(goal),
  ])
  console.error(JSON.stringify({ node: process.version, ...result, floor: goal }))
}
for (const name of Object.keys(budget.floors)) {
  if (!rows.some((row) => row.name === name)) failed.push(`${name}: in bench/budget.json, and no such benchmark`)
}

console.log(table(['WORK', 'PEER', 'OURS', 'PEER TIME', 'RATIO', 'GOAL'], lines))
if (values.json !== undefined)
  writeFileSync(values.json, measured.map((result) => `${JSON.stringify(result)}\n`).join(''))
if (values.page !== undefined) writeFileSync(values.page, page(lines))
if (values['no-gate'] !== true && failed.length > 0) {
  console.log(`\nbelow the floor, with ${budget.slack * 100} % slack:\n${failed.join('\n')}`)
  process.exitCode = 1
}

function time(ns: number): string {
  if (ns < 1000) return `${ns.toFixed(0)} ns`
  return ns < 1e6 ? `${(ns / 1000).toFixed(1)} µs` : `${(ns / 1e6).toFixed(2)} ms`
}

function ratio(value: number): string {
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)}x`
}

/** docs/reference/benchmarks.md: `npm run bench -- --page docs/reference/benchmarks.md`. */
function page(cells: readonly (readonly string[])[]): string {
  return `# Benchmarks

\`npm run bench\` does the same work with us and with a peer in one process, sides taking turns, and prints the ratio: peer time divided by our
time, best of three medians. Above 1 we are faster. The goals are in \`bench/budget.json\`; CI fails below ${100 - budget.slack * 100} % of one, after measuring the row three
times. Times depend on the machine and say little; ratios are what to look at.

Rows named *model* are our own code after the algorithm of the peer, without its listing, logging and locking. Rows whose peer is ourselves show
that the cost does not grow with the pool or with its fill.

Node ${process.versions.node.split('.')[0]}:

| work | peer | ours | peer's time | ratio | goal |
|---|---|---|---|---|---|
${cells.map((row) => `| ${row.join(' | ')} |`).join('\n')}
`
}
