// npm run test:real [-- PART...]
//
// The tests that need something beyond Node, each part against the real thing. A part finds or installs what it needs, starts it on
// 127.0.0.1 and stops it again; what can not be had is a failure that says what to install. Nothing is skipped.
//
// To add a part: a folder with a `part.ts` that exports a `Part`, and a line here.
import { browser } from './browser/part.js'
import { type Part, Report } from './report.js'

const parts: readonly Part[] = [browser]

process.exitCode = await main(process.argv.slice(2))

/** @returns the exit code: 1 if anything has failed, 2 for a command line that is not understood */
async function main(wanted: readonly string[]): Promise<number> {
  const unknown = wanted.filter((name) => !parts.some((part) => part.name === name))
  if (unknown.length > 0) {
    console.error(`no part ${unknown.join(', ')}\nusage: npm run test:real [-- PART...]`)
    for (const { name, about } of parts) console.error(`  ${name.padEnd(12)} ${about}`)
    return 2
  }
  const report = new Report()
  for (const part of parts) {
    if (wanted.length === 0 || wanted.includes(part.name)) await report.run(part)
  }
  console.log(report.summary())
  return report.failed === 0 ? 0 : 1
}
