import assert from 'node:assert/strict'
import { admitExample, exampleNamed } from '../account.js'
import type { Recording } from '../differences.js'
import type { Depth, Report } from '../report.js'
import { type RealKubernetes, startKubernetes } from '../servers/kubernetes.js'
import { judge, readScript, record } from '../traces.js'
import { rulesFor } from './rules.js'

export const EXAMPLE = exampleNamed('node-ipam-controller', 'ipam-kit-node-ipam')

const NAMES: { readonly [D in Depth]: readonly string[] } = {
  full: [
    'node-ipam-controller',
    ...['v4', 'v6', 'v6first', 'dual', 'mask', 'svc', 'svc2', 'uneven'].map((name) => `kcm-nodeipam-${name}`),
  ],
  short: ['node-ipam-controller', 'kcm-nodeipam-v4', 'kcm-nodeipam-dual', 'kcm-nodeipam-svc', 'kcm-nodeipam-uneven'],
}
/** How many control planes go through the cases side by side: most of the time is waiting. */
const PLANES = 4
/** One of how many cases of a script. */
const EVERY: { readonly [D in Depth]: number } = { full: 1, short: 8 }
/**
 * A case that changes a Node right after the start expects the Event about its first state: the
 * controller has to run by then, also on a machine that became busy after it was measured.
 */
const STARTUP_MS = 5000
/** Recorded were waits of up to 34 s, until a Node was tried again. Here it is woken. */
const LONGEST_WAIT_MS = 1000
/**
 * Messages, and what kube-apiserver itself says of its own Service now and then when it has just
 * started.
 */
const IGNORED = String.raw`\.message$|^\.Event/Service/kubernetes/`

/** A control plane without controllers, with what the example may do in it. */
interface Ground {
  readonly server: RealKubernetes
  readonly kubeconfig: string
}

/** Control planes, each of which goes through one case at a time. */
class Grounds {
  readonly #all: Ground[] = []
  readonly #free: Ground[] = []
  readonly #waiting: ((ground: Ground) => void)[] = []

  async open(count: number): Promise<void> {
    // one after the other: a server that comes up takes all that the machine has
    for (let nth = 0; nth < count; nth++) {
      const server = await startKubernetes({ bare: true })
      this.#all.push({ server, kubeconfig: await admitExample(server, EXAMPLE) })
      this.#free.push(this.#all.at(-1)!)
    }
  }

  /** Does something with one that is free, or will be. */
  async use<T>(action: (ground: Ground) => Promise<T>): Promise<T> {
    const ground = this.#free.pop() ?? (await new Promise<Ground>((resolve) => this.#waiting.push(resolve)))
    try {
      return await action(ground)
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free.push(ground)
      else next(ground)
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map(({ server }) => server.stop()))
  }
}

/**
 * The example goes through what was done to kube-controller-manager and node-ipam-controller, and
 * leaves what those have left.
 */
export async function replays(report: Report, program: string, depth: Depth): Promise<void> {
  const grounds = new Grounds()
  try {
    await grounds.open(PLANES)
    await Promise.all(NAMES[depth].map((name) => replay(report, program, { name, grounds, every: EVERY[depth] })))
  } finally {
    await grounds.close()
  }
}

interface Replay {
  readonly name: string
  readonly grounds: Grounds
  /** One of so many cases. */
  readonly every: number
}

async function replay(report: Report, program: string, { name, grounds, every }: Replay): Promise<void> {
  await report.test(`${name}.json ends as recorded`, async () => {
    const script = readScript(name)
    const mode = script.flags === undefined ? '--ranges objects --order upstream' : `--ranges flags ${script.flags}`
    const controller = `${process.execPath} ${program} --metrics 0 ${mode}`
    const ids = script.cases.filter((_, index) => index % every === 0).map(({ id }) => id)
    const waits = { startupMs: STARTUP_MS, longestWaitMs: LONGEST_WAIT_MS }
    const recordings = await Promise.all(
      ids.map((id) => grounds.use((ground) => record(ground, { name, script, only: [id], controller, ...waits }))),
    )
    const ours: Recording = { cases: recordings.flatMap(({ cases }) => cases) }
    assert.equal(ours.cases.length, ids.length)
    return judge({ name, ours }, rulesFor(script), { ignored: IGNORED })
  })
}
