import assert from 'node:assert/strict'
import { admitExample, exampleNamed } from '../account.js'
import type { Depth, Report } from '../report.js'
import { type RealKubernetes, startKubernetes } from '../servers/kubernetes.js'
import { judge, type Recording, readScript, record } from '../traces.js'
import { rulesFor } from './rules.js'

export const EXAMPLE = exampleNamed('node-ipam-controller', 'ipam-kit-node-ipam')

const MANAGER = ['v4', 'v6', 'v6first', 'dual', 'mask', 'svc', 'svc2', 'uneven'].map((name) => `kcm-nodeipam-${name}`)
const CONTROLLER = 'node-ipam-controller'
/** How many control planes go through the cases of node-ipam-controller side by side: most of the time is waiting. */
const PLANES = 3
/** One of how many cases of a script. */
const EVERY: { readonly [D in Depth]: number } = { full: 1, short: 4 }
const STARTUP_MS = 3000
/** Recorded were waits of up to 34 s, until a Node was tried again. Here it is woken. */
const LONGEST_WAIT_MS = 1000
const IGNORED = String.raw`\.message$`

/** A control plane without controllers, with what the example may do in it. */
interface Ground {
  readonly server: RealKubernetes
  readonly kubeconfig: string
}

/** The example goes through what was done to kube-controller-manager and node-ipam-controller, and leaves what those have left. */
export async function replays(report: Report, program: string, depth: Depth): Promise<void> {
  const grounds: Ground[] = []
  try {
    // one after the other: a server that comes up takes all that the machine has
    for (let plane = 0; plane <= PLANES; plane++) {
      const server = await startKubernetes({ bare: true })
      grounds.push({ server, kubeconfig: await admitExample(server, EXAMPLE) })
    }
    const [first, ...others] = grounds
    await Promise.all([
      replay(report, program, { name: CONTROLLER, grounds: others, every: EVERY[depth] }),
      (async () => {
        for (const name of MANAGER) await replay(report, program, { name, grounds: [first!], every: EVERY[depth] })
      })(),
    ])
  } finally {
    await Promise.all(grounds.map(({ server }) => server.stop()))
  }
}

interface Replay {
  readonly name: string
  readonly grounds: readonly Ground[]
  /** One of so many cases. */
  readonly every: number
}

async function replay(report: Report, program: string, { name, grounds, every }: Replay): Promise<void> {
  await report.test(`${name}.json ends as recorded`, async () => {
    const script = readScript(name)
    const mode = script.flags === undefined ? '--ranges objects --order upstream' : `--ranges flags ${script.flags}`
    const controller = `${process.execPath} ${program} --metrics 0 ${mode}`
    const cases = script.cases.filter((_, index) => index % every === 0)
    const recordings = await Promise.all(
      grounds.map(async (ground, nth) => {
        const only = cases.filter((_, index) => index % grounds.length === nth).map(({ id }) => id)
        if (only.length === 0) return { cases: [] }
        const waits = { startupMs: STARTUP_MS, longestWaitMs: LONGEST_WAIT_MS }
        return record(ground, { name, script, only, controller, ...waits })
      }),
    )
    const ours: Recording = { cases: recordings.flatMap((each) => each.cases) }
    assert.equal(ours.cases.length, cases.length)
    return judge({ name, ours }, rulesFor(script), { ignored: IGNORED })
  })
}
