// npm run limits -- [--page FILE]
//
// What objects of blocks take, what knowing them costs in memory and time, and what a controller
// takes that starts. Nothing is compared here: docs/reference/limits.md has the figures of one run.
import { parseArgs } from 'node:util'
import { table } from 'ipam-kit/render'
import { runChild } from '../child.js'
import { nodeName, writeSection } from '../page.js'
import { measureStart } from '../start/measure.js'
import { SYSTEMS, type System } from '../start/objects.js'
import type { Measured } from './program.js'
import { HEAD, sizes, volumes, WHEREABOUTS_HEAD, whereaboutsRows } from './sizes.js'

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
  'Rows of a whereabouts pool',
  WHEREABOUTS_HEAD,
  whereaboutsRows(),
  `An IPPool of whereabouts is one object with all rows of a range. It has room for 1.5 MiB, in etcd as in the stores of this library. Names as in the rows above.
On a real API server upstream reached 9,713 rows with names of Pods of 57 characters. An ADD of upstream beyond that answers success without a row; \`add\` answers \`denied\`.`,
)
show(
  'Memory and time',
  ['what', 'measured'],
  figures,
  `${nodeName()}, best of many, one process on a machine with two cores.`,
)
show(
  'CPU and memory of a controller',
  ['objects', 'system', 'CPU until all is planned', 'longest turn', 'heap', 'most memory of the process'],
  [1000, 10_000, 100_000].flatMap((count) =>
    (Object.keys(SYSTEMS) as System[]).map((system) => startOf(system, count)),
  ),
  `A controller that starts beside objects that need nothing: it lists and plans all of them. in-cluster: claims and IPAddress objects, half of each. blocks: the same, with rows in blocks of 256. node-ipam: Nodes with subnets.
Heap: by how much it has grown. A turn of the event loop in milliseconds of CPU. ${nodeName()}, on a machine with two cores, with tsx, which takes some of the memory.`,
)

function startOf(system: System, count: number): readonly string[] {
  const { cpuMs, longestMs, heapBytes, rssBytes } = measureStart(system, count)
  const [seconds, turn] = [`${(cpuMs / 1000).toFixed(1)} s`, `${longestMs.toFixed(0)} ms`]
  return [count.toLocaleString('en'), system, seconds, turn, megabytes(heapBytes), megabytes(rssBytes)]
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`
}

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
