import assert from 'node:assert/strict'
import type { Recording } from '../differences.js'
import type { Depth, Report } from '../report.js'
import { judge, readScript, record } from '../traces.js'
import { type Definitions, type Ground, startGround } from './ground.js'
import { rules } from './rules.js'

/**
 * How long the controller has to come up, in milliseconds. As many controllers as there are control
 * planes come up at the same time, and the first case of each begins after that.
 */
const STARTUP_MS = 15_000
/** A grace period of addresses, in seconds. */
const GRACE = /^addressReuseGracePeriodSeconds$/
const WITH_COLLECTOR = 'in-cluster-gc'
/**
 * The scripts, and how many control planes go through the cases of each side by side: most of the
 * time is waiting.
 */
const PLANES: { readonly [script: string]: number } = { 'in-cluster': 3, [WITH_COLLECTOR]: 1 }

interface Size {
  readonly definitions: readonly Definitions[]
  readonly scripts: readonly string[]
  /** One of how many cases of a script. */
  readonly every: number
}

const SIZES: { readonly [D in Depth]: Size } = {
  full: { definitions: ['upstream', 'generated'], scripts: Object.keys(PLANES), every: 1 },
  short: { definitions: ['generated'], scripts: ['in-cluster'], every: 6 },
}

/** Times and words differ from run to run; that claims say why is looked at in each of them. */
const IGNORED = String.raw`lastTransitionTime|observedGeneration|\.message$|status\.conditions\[Ready\]`
const READY = 'Claims have a Ready condition'
/** A script, on control planes of one kind. */
interface Replay {
  readonly name: string
  readonly definitions: Definitions
  readonly grounds: readonly Ground[]
  /** One of so many cases. */
  readonly every: number
}

/** The example goes through what was done to the Go provider, and leaves what that one has left. */
export async function replays(report: Report, program: string, depth: Depth): Promise<void> {
  const { definitions: sides, scripts, every } = SIZES[depth]
  const all: Replay[] = []
  try {
    for (const definitions of sides) {
      for (const name of scripts) {
        // the collector runs where it did when the recording was made
        const begin = () => startGround(definitions, { bare: name !== WITH_COLLECTOR })
        const grounds: Ground[] = []
        all.push({ name, definitions, grounds, every })
        // one after the other: a server that comes up takes all that the machine has, and a
        // controller would be slow to come up beside it
        for (let plane = 0; plane < PLANES[name]!; plane++) grounds.push(await begin())
      }
    }
    await Promise.all(all.map((each) => replay(report, program, each)))
  } finally {
    await Promise.all(all.flatMap(({ grounds }) => grounds.map(({ server }) => server.stop())))
  }
}

async function replay(report: Report, program: string, { name, definitions, grounds, every }: Replay): Promise<void> {
  await report.test(`${name}.json with ${definitions} definitions ends as recorded`, async () => {
    const script = readScript(name)
    const controller = `${process.execPath} ${program} --metrics 0`
    const cases = script.cases.filter((_, index) => index % every === 0)
    const recordings = await Promise.all(
      grounds.map((ground, nth) => {
        const only = cases.filter((_, index) => index % grounds.length === nth).map(({ id }) => id)
        return record(ground, { name, script, only, controller, startupMs: STARTUP_MS, times: GRACE })
      }),
    )
    const ours: Recording = { cases: recordings.flatMap(({ cases }) => cases) }
    assert.equal(ours.cases.length, cases.length)
    for (const { id, final } of ours.cases) {
      for (const [key, object] of Object.entries(final))
        if (key.startsWith('IPAddressClaim/')) saysWhy(`${id} ${key}`, object)
    }
    return judge({ name, ours }, rules, { ignored: IGNORED, always: [READY] })
  })
}

/**
 * A claim that we serve says whether it has its address, and if not, why; of one that we leave
 * alone nothing is said.
 */
function saysWhy(name: string, object: unknown): void {
  const { status, metadata } = object as {
    readonly metadata: { readonly finalizers?: readonly string[] }
    readonly status?: {
      readonly addressRef?: object
      readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[]
    }
  }
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  if (status?.addressRef !== undefined) {
    assert.deepEqual([ready?.status, ready?.reason], ['True', 'AddressAllocated'], name)
  } else if (ready !== undefined) {
    assert.equal(ready.status, 'False', name)
    assert.match(ready.reason, /^(PoolNotReady|PoolExhausted|AllocationFailed)$/, name)
    assert.deepEqual(metadata.finalizers, ['ipam.cluster.x-k8s.io/ReleaseAddress'], name)
  }
}
