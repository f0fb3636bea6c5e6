// The demo as it is, with the clients of stores from where the tests have them; and as if one of
// them were not installed, in DEMO_WITHOUT.
import { runDemo } from '../../../docs/examples/demo/run.js'
import type { Load } from '../../../docs/examples/open-store.js'
import { importClient } from '../servers/install.js'

const load: Load = (name) => importClient(name === process.env.DEMO_WITHOUT ? `${name}-is-hidden` : name)

process.exitCode = await runDemo(process.argv.slice(2), {
  folder: process.cwd(),
  stdin: process.stdin,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  isTerminal: false,
  load,
})
