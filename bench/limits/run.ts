// npm run limits -- [--page FILE]
//
// What objects of blocks take, and what knowing them costs in memory and time. Nothing is compared
// here: docs/reference/limits.md has the figures of one run.
import { parseArgs } from 'node:util'
import { table } from 'ipam-kit/render'
import { runChild } from '../child.js'
import { nodeName, writeSection } from '../page.js'
import type { Measured } from './program.js'
import { HEAD, sizes, volumes } from './sizes.js'

const { values } = parseArgs({ options: { page: { type: 'string' } } })
const measured = runChild<Measured[]>('./limits/program.ts', { flags: ['--expose-gc'] })
const figures = measured.map(({ what, bytes, ms }) => [
  what,
  bytes === undefined ? asMs(ms ?? Number.NaN) : asBytes(bytes),
])

show('Sizes of objects', HEAD, sizes(), 'In bytes, as JSON without blanks.')
show(
  'What 1,000 allocations write',
  ['rows in', 'written'],
  volumes(),
  'And what is sent to each watch: a write of a row is a write of its object. Rows as usual, blocks filled one after the other.',
)
show(
  'Memory and time',
  ['what', 'measured'],
  figures,
  `${nodeName()}, best of many, one process on a machine with two cores.`,
)

function show(heading: string, head: readonly string[], lines: readonly (readonly string[])[], about: string): void {
  console.log(
    table(
      head.map((word) => word.toUpperCase()),
      lines.map((line) => [...line]),
    ),
  )
  if (values.page !== undefined) writeSection(values.page, heading, { about, head, lines, notes: [] })
}

function asBytes(count: number): string {
  return `${Math.round(count).toLocaleString('en')} bytes`
}

function asMs(ms: number): string {
  return ms < 1 ? `${(ms * 1000).toFixed(0)} µs` : `${ms.toFixed(ms < 10 ? 1 : 0)} ms`
}
