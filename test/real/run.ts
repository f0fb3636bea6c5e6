// npm run test:real [-- [--short] [--results FOLDER] [--page FILE] PART...]
// npm run test:real -- --prepare
//
// The tests that need something beyond Node, each part against the real thing. A part finds or
// installs what it needs, starts it on 127.0.0.1 and stops it again; what cannot be had is a
// failure that says what to install. Nothing is skipped.
//
// With --short, each part does less of the same: what that is stands in the part. With --prepare,
// nothing is tested: whatever any part needs is installed or built now, and not within a test.
//
// With --results, how the conformance suite ended on each store is written into files there: see
// scripts/write-stores-doc.ts.
//
// With --page, what parts have measured is written into sections of that page:
// `--page docs/reference/limits.md selection`.
//
// To add a part: a folder with a `part.ts` that exports a `Part`, and a line here.
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { writeSection } from '../../bench/page.js'
import { blocksPart } from './blocks/part.js'
import { browser } from './browser/part.js'
import { cniPart } from './cni/part.js'
import { writeResults } from './conformance.js'
import { controller } from './controller/part.js'
import { crd } from './crd/part.js'
import { demo } from './demo/part.js'
import { etcd } from './etcd/part.js'
import { floatingIP } from './floating-ip/part.js'
import { gc } from './gc/part.js'
import { kill } from './kill/part.js'
import { kubernetes } from './kubernetes/part.js'
import { local } from './local/part.js'
import { nodeIPAMPart } from './node-ipam/part.js'
import { slowness } from './pace.js'
import { persistentPart } from './persistent/part.js'
import { postgres } from './postgres/part.js'
import { prepare } from './prepare.js'
import { redis } from './redis/part.js'
import { type Depth, type Part, Report } from './report.js'
import { selection } from './selection/part.js'
import { servers } from './servers/part.js'
import { sqlite } from './sqlite/part.js'
import { whereaboutsPart } from './whereabouts/part.js'

// those of a lane: the longest come first, so that both lanes end at the same time
const parts: readonly Part[] = [
  browser,
  servers,
  local,
  sqlite,
  crd,
  whereaboutsPart,
  nodeIPAMPart,
  controller,
  cniPart,
  persistentPart,
  floatingIP,
  kubernetes,
  etcd,
  blocksPart,
  demo,
  kill,
  selection,
  redis,
  postgres,
  gc,
]

process.exitCode = await main(process.argv.slice(2))

/** @returns the exit code: 1 if anything has failed, 2 for a command line that is not understood */
async function main(args: string[]): Promise<number> {
  const options = {
    results: { type: 'string' },
    page: { type: 'string' },
    short: { type: 'boolean', default: false },
    prepare: { type: 'boolean', default: false },
  } as const
  const { values, positionals: wanted } = parseArgs({ args, options, allowPositionals: true })
  const unknown = wanted.filter((name) => !parts.some((part) => part.name === name))
  if (unknown.length > 0) {
    console.error(
      `no part ${unknown.join(', ')}\nusage: npm run test:real [-- [--short] [--results FOLDER] [--page FILE] PART...]`,
    )
    for (const { name, about } of parts) console.error(`  ${name.padEnd(12)} ${about}`)
    return 2
  }
  if (values.prepare) {
    await prepare()
    return 0
  }
  const report = new Report()
  const depth = values.short ? 'short' : 'full'
  console.log(`limits of time are ${slowness.toFixed(1)} times those of a quiet machine`)
  const chosen = parts.filter(({ name }) => wanted.length === 0 || wanted.includes(name))
  const alone = depth === 'full' ? 'alone' : undefined
  const isInTurn = ({ place }: Part) => place === 'first' || (place !== undefined && place === alone)
  for (const part of chosen.filter(isInTurn)) await report.run(part, depth)
  const others = chosen.filter((part) => !isInTurn(part))
  // all that they need is there: it is not built twice
  if (others.length > 1 && chosen.includes(servers)) {
    await runBeside(report, others, { depth, results: values.results })
  } else for (const part of others) await report.run(part, depth)
  if (values.results !== undefined) writeResults(values.results, report.results)
  if (values.page !== undefined) {
    for (const { heading, ...findings } of report.sections) writeSection(values.page, heading, findings)
  }
  console.log(report.summary())
  return report.failed === 0 ? 0 : 1
}

interface Arguments {
  readonly depth: Depth
  readonly results: string | undefined
}

/**
 * Runs each part in a process of its own, two at a time, and says what it has said when it has
 * ended.
 */
async function runBeside(report: Report, parts: readonly Part[], args: Arguments): Promise<void> {
  const left = [...parts]
  const lane = async () => {
    for (let part = left.shift(); part !== undefined; part = left.shift()) {
      const { name } = part
      await report.guard(name, async () => report.add(await inItsOwnProcess(name, args)))
    }
  }
  await Promise.all([lane(), lane()])
}

async function inItsOwnProcess(name: string, { depth, results }: Arguments): Promise<string> {
  const program = [...process.execArgv, fileURLToPath(import.meta.url)]
  const args = [
    ...(depth === 'short' ? ['--short'] : []),
    ...(results === undefined ? [] : ['--results', results]),
    name,
  ]
  const child = spawn(process.execPath, [...program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  return text(child.stdout)
}
