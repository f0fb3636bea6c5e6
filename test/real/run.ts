// npm run test:real [-- [--results FOLDER] PART...]
//
// The tests that need something beyond Node, each part against the real thing. A part finds or installs what it needs, starts it on
// 127.0.0.1 and stops it again; what can not be had is a failure that says what to install. Nothing is skipped.
//
// With --results, how the conformance suite ended on each store is written into files there: see scripts/write-stores-doc.ts.
//
// To add a part: a folder with a `part.ts` that exports a `Part`, and a line here.
import { parseArgs } from 'node:util'
import { blocksPart } from './blocks/part.js'
import { browser } from './browser/part.js'
import { writeResults } from './conformance.js'
import { controller } from './controller/part.js'
import { crd } from './crd/part.js'
import { demo } from './demo/part.js'
import { etcd } from './etcd/part.js'
import { gc } from './gc/part.js'
import { kill } from './kill/part.js'
import { kubernetes } from './kubernetes/part.js'
import { local } from './local/part.js'
import { postgres } from './postgres/part.js'
import { redis } from './redis/part.js'
import { type Part, Report } from './report.js'
import { servers } from './servers/part.js'
import { sqlite } from './sqlite/part.js'

const parts: readonly Part[] = [
  browser,
  servers,
  local,
  sqlite,
  postgres,
  redis,
  etcd,
  kubernetes,
  crd,
  controller,
  gc,
  kill,
  blocksPart,
  demo,
]

process.exitCode = await main(process.argv.slice(2))

/** @returns the exit code: 1 if anything has failed, 2 for a command line that is not understood */
async function main(args: string[]): Promise<number> {
  const options = { results: { type: 'string' } } as const
  const { values, positionals: wanted } = parseArgs({ args, options, allowPositionals: true })
  const unknown = wanted.filter((name) => !parts.some((part) => part.name === name))
  if (unknown.length > 0) {
    console.error(`no part ${unknown.join(', ')}\nusage: npm run test:real [-- [--results FOLDER] PART...]`)
    for (const { name, about } of parts) console.error(`  ${name.padEnd(12)} ${about}`)
    return 2
  }
  const report = new Report()
  for (const part of parts) {
    if (wanted.length === 0 || wanted.includes(part.name)) await report.run(part)
  }
  if (values.results !== undefined) writeResults(values.results, report.results)
  console.log(report.summary())
  return report.failed === 0 ? 0 : 1
}
