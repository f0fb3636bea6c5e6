import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { runDemo } from '../../docs/examples/demo/run.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Runs a scenario of the demo in this process. */
export async function runScenario(scenario: string, args: readonly string[]) {
  let [out, err] = ['', '']
  const status = await runDemo(['--scenario', scenario, ...args], {
    folder: root,
    stdin: Readable.from([]),
    out: (text) => (out += text),
    err: (text) => (err += text),
    isTerminal: false,
  })
  return { status, out, err }
}
