import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { paced, slowness } from '../pace.js'
import type { Depth, Report } from '../report.js'
import { run } from '../servers/tools.js'
import { type Definitions, type Ground, SHARED, startGround } from './ground.js'

const TRACES = join(SHARED, 'traces')
const DEVIATIONS = fileURLToPath(new URL('../../../docs/reference/deviations.md', import.meta.url))
/** How many times as long everything takes that scripts do by the clock, as waiting for the end of a grace period. */
const PACE = Math.round(slowness)
/** How long nothing has to change before a step is over, in milliseconds: the recorded controller took longer. */
const QUIET_MS = 800 * PACE
/** A step that is not over by then never is. */
const MAX_MS = 30_000 * PACE
const LIMIT_SECONDS = 15 * 60
/** How long the controller has to come up, in milliseconds, beside others. */
const STARTUP_MS = paced(5000)
const WITH_COLLECTOR = 'in-cluster-gc'
/** The scripts, and how many control planes go through the cases of each side by side: most of the time is waiting. */
const PLANES = { 'in-cluster': 3, [WITH_COLLECTOR]: 1 }

/** Whose definitions, and one of how many cases of a script. */
const SIZES: { readonly [D in Depth]: { readonly definitions: readonly Definitions[]; readonly every: number } } = {
  full: { definitions: ['upstream', 'generated'], every: 1 },
  short: { definitions: ['generated'], every: 4 },
}

type Objects = Readonly<Record<string, unknown>>

interface Script {
  readonly cases: readonly { readonly id: string }[]
}

interface Recording {
  readonly cases: readonly { readonly id: string; readonly final: Objects }[]
}

/** A difference that is meant: what it is called in docs/reference/deviations.md, and how it looks. */
interface Rule {
  readonly heading: string
  readonly path: RegExp
  /** Given what they have at that path, what we have, and our objects. `undefined`: nothing. */
  readonly holds: (theirs: Leaf, ours: Leaf, object: unknown) => boolean
}

type Leaf = string | number | boolean | undefined

/** Times and words differ from run to run; that claims say why is looked at in each of them. */
const IGNORED = String.raw`lastTransitionTime|observedGeneration|\.message$|status\.conditions\[Ready\]`
const READY = 'Claims have a Ready condition'
/** The tool tells no more of a case. */
const MAX_TOLD = 30
const CAP = 2n ** 63n - 1n

const rules: readonly Rule[] = [
  {
    heading: 'free-never-negative',
    path: /\.status\.ipAddresses\.free$/,
    holds: (theirs, ours) => Number(theirs) < 0 && Number(ours) >= 0,
  },
  {
    heading: 'Counts end at 2^63 - 1024',
    path: /\.status\.ipAddresses\.(total|free)$/,
    holds: (theirs, ours) => BigInt(theirs ?? 0) > CAP - 1024n && Number(ours) === Number(2n ** 63n - 1024n),
  },
  {
    heading: 'An address of somebody else is never touched',
    path: /^\.IPAddress\//,
    holds: (theirs, _ours, object) => theirs === undefined && isUntouched(object),
  },
]

/** Nothing in it was written by a provider. */
function isUntouched(object: unknown): boolean {
  const { metadata } = object as { metadata: { ownerReferences?: unknown; finalizers?: unknown } }
  return metadata.ownerReferences === undefined && metadata.finalizers === undefined
}

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
  const { definitions: sides, every } = SIZES[depth]
  const all: Replay[] = []
  try {
    for (const definitions of sides) {
      for (const [name, planes] of Object.entries(PLANES)) {
        // the collector runs where it did when the recording was made
        const begin = () => startGround(definitions, { bare: name !== WITH_COLLECTOR })
        const grounds: Ground[] = []
        all.push({ name, definitions, grounds, every })
        // one after the other: a server that comes up takes all that the machine has, and a controller would be slow to come up beside it
        for (let plane = 0; plane < planes; plane++) grounds.push(await begin())
      }
    }
    await Promise.all(all.map((each) => replay(report, program, each)))
  } finally {
    await Promise.all(all.flatMap(({ grounds }) => grounds.map(({ server }) => server.stop())))
  }
}

async function replay(report: Report, program: string, { name, definitions, grounds, every }: Replay): Promise<void> {
  await report.test(`${name}.json with ${definitions} definitions ends as recorded`, async () => {
    const script = readJson(join(TRACES, 'scripts', `${name}.json`)) as Script
    const cases = script.cases.filter((_, index) => index % every === 0)
    const recordings = await Promise.all(
      grounds.map((ground, nth) => {
        const only = cases.filter((_, index) => index % grounds.length === nth).map(({ id }) => id)
        return record(ground, { name, program, script, only })
      }),
    )
    const ours: Recording = { cases: recordings.flatMap(({ cases }) => cases) }
    assert.equal(ours.cases.length, cases.length)
    return judge(name, ours)
  })
}

interface Drive {
  readonly name: string
  readonly program: string
  readonly script: Script
  /** The cases that are gone through. */
  readonly only: readonly string[]
}

async function record({ server, kubeconfig }: Ground, { name, program, script, only }: Drive): Promise<Recording> {
  const plane = server.folder
  const file = (path: string, text: string) => {
    const whole = join(plane, path)
    writeFileSync(whole, text, { mode: 0o600 })
    return whole
  }
  file('env', `SERVER=${server.url}\nETCD=${server.etcdUrl}\nDIR=${plane}\n`)
  file('admin.crt', server.clientCert)
  file('admin.key', server.clientKey)
  copyFileSync(kubeconfig, join(plane, 'kubeconfig'))
  const out = join(plane, 'recording.json')
  const slowed = JSON.stringify({
    ...script,
    cases: withTimes(script.cases, PACE),
    quietMs: QUIET_MS,
    maxMs: MAX_MS,
    startupMs: STARTUP_MS,
  })
  const steps = file(`${name}.json`, slowed)
  const controller = `${process.execPath} ${program} --metrics 0`
  const plan = ['--plane', plane, '--controller', controller, '--crds-from', SHARED, '-o', out, '--only', only.join()]
  await run(process.execPath, [join(TRACES, 'drive.mjs'), steps, ...plan], { seconds: LIMIT_SECONDS })
  return withTimes(readJson(out) as Recording, 1 / PACE)
}

/** The same with all times of a pool and all waits multiplied. */
function withTimes<T>(value: T, factor: number): T {
  const isTime = /^(wait|addressReuseGracePeriodSeconds)$/
  return JSON.parse(JSON.stringify(value), (key, member) =>
    isTime.test(key) && typeof member === 'number' ? member * factor : member,
  )
}

/** @returns how many cases there are, and which rules tell where they differ */
function judge(name: string, ours: Recording): Promise<string> {
  for (const { id, final } of ours.cases) {
    for (const [key, object] of Object.entries(final))
      if (key.startsWith('IPAddressClaim/')) saysWhy(`${id} ${key}`, object)
  }
  return differencesIn(name, ours).then((told) => {
    const used = new Set<string>([READY])
    const unexplained = told.filter(({ id, line }) => {
      const rule = ruleFor(line, ours.cases.find((each) => each.id === id)?.final ?? {})
      if (rule !== undefined) used.add(rule.heading)
      return rule === undefined
    })
    assert.deepEqual(unexplained, [])
    const deviations = readFileSync(DEVIATIONS, 'utf8')
    for (const heading of used) assert(deviations.includes(`\n### ${heading}\n`), `no rule ${heading}`)
    return `${ours.cases.length} cases, differing by ${[...used].sort().join('; ')}`
  })
}

/** A claim that we serve says whether it has its address, and if not, why; of one that we leave alone nothing is said. */
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

interface Difference {
  readonly id: string
  /** A path, then what they have there and what we have. */
  readonly line: string
}

/** As the tool that came with the recordings sees them. */
async function differencesIn(name: string, ours: Recording): Promise<readonly Difference[]> {
  const { cases: all } = readJson(join(TRACES, 'recordings', `${name}.json`)) as Recording
  const cases = all.filter(({ id }) => ours.cases.some((own) => own.id === id))
  assert.equal(cases.length, ours.cases.length, `recorded cases of ${name}`)
  const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-diff-'))
  try {
    const differences: Difference[] = []
    for (const theirs of cases) {
      const own = ours.cases.find(({ id }) => id === theirs.id)!
      const files = Object.entries({ theirs, own }).map(([side, only]) => {
        const file = join(folder, `${side}.json`)
        writeFileSync(file, JSON.stringify({ cases: [only] }))
        return file
      })
      // it ends with 1 where there are differences
      const diff = `"$0" "$@" || true`
      const args = ['-c', diff, process.execPath, join(TRACES, 'diff.mjs'), ...files, '--ignore', IGNORED]
      const lines = (await run('bash', args)).trim().split('\n')
      assert.match(lines.at(-1) ?? '', /^[01] passed, [01] failed$/)
      const told = lines.slice(1, -1).map((line) => line.trim())
      assert(
        told.length < MAX_TOLD,
        [`${theirs.id}: no more than ${MAX_TOLD} differences are told`, ...told].join('\n'),
      )
      differences.push(...told.map((line) => ({ id: theirs.id, line })))
    }
    return differences
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** `.Kind/name.path: theirs | ours`, as JSON; the name of a kind of which all are compared as a set is `*`. */
function ruleFor(line: string, final: Objects): Rule | undefined {
  const [, path, theirs, ours] = /^(\S+): (.*) \| (.*)$/.exec(line) ?? []
  if (path === undefined || theirs === undefined || ours === undefined) return undefined
  const object = Object.entries(final).find(([key]) => path.startsWith(`.${key}.`))?.[1]
  return rules.find((rule) => rule.path.test(path) && rule.holds(leafOf(theirs), leafOf(ours), object))
}

function leafOf(json: string): Leaf {
  return json === 'undefined' ? undefined : JSON.parse(json)
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'))
}
