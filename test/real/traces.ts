import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SHARED } from './account.js'
import {
  type Case,
  type Difference,
  type Leaf,
  oneByOne,
  type Recording,
  type Rule,
  type Script,
} from './differences.js'
import { paced, slowness } from './pace.js'
import type { RealKubernetes } from './servers/kubernetes.js'
import { run } from './servers/tools.js'

// What a component of Kubernetes did in the steps of a script was recorded on a real API server.
// Here our program goes through the same steps, and each object has to end as recorded, but for
// what rules of docs/reference/deviations.md say.

const TRACES = join(SHARED, 'traces')
const DEVIATIONS = fileURLToPath(new URL('../../docs/reference/deviations.md', import.meta.url))
/**
 * How many times as long everything takes that scripts do by the clock, as waiting for the end of a
 * grace period.
 */
const PACE = Math.round(slowness)
/**
 * How long nothing has to change before a step is over, in milliseconds on a quiet machine: the
 * recorded controller took longer.
 */
const QUIET_MS = 800
/** A step that is not over by then never is. */
const MAX_MS = 30_000
const LIMIT_SECONDS = 15 * 60
/** The tool tells no more of a case. */
const MAX_TOLD = 30

/** A script, and what goes through it. */
export interface Drive {
  readonly name: string
  readonly script: Script
  /** The cases that are gone through. */
  readonly only: readonly string[]
  /** The command line of the program; empty: the steps alone. */
  readonly controller: string
  /** Further variables of its environment, and of that of the steps. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /**
   * How long nothing has to change before a step is over, in milliseconds on a quiet machine.
   * Default 800.
   */
  readonly quietMs?: number | undefined
  /** How long it has to come up on a quiet machine, in milliseconds, beside others. */
  readonly startupMs: number
  /**
   * The longest wait on a quiet machine, in milliseconds: for a program that tries nothing again
   * after a while. Left out: those of the script.
   */
  readonly longestWaitMs?: number | undefined
  /**
   * Fields of the objects in seconds that are multiplied where the machine is slow, as waits are.
   */
  readonly times?: RegExp | undefined
}

export function readScript(name: string): Script {
  return readJson(join(TRACES, 'scripts', `${name}.json`)) as Script
}

/** Goes through cases of a script. */
export async function record(
  { server, kubeconfig }: { readonly server: RealKubernetes; readonly kubeconfig: string },
  drive: Drive,
): Promise<Recording> {
  const { name, script, only, controller, startupMs, env = {}, quietMs = QUIET_MS } = drive
  const { longestWaitMs = Number.POSITIVE_INFINITY, times = /^$/ } = drive
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
  const wait = (ms: number) => Math.min(ms, longestWaitMs) * PACE
  const slowed = withNumbers(script.cases, (key, n) => (key === 'wait' ? wait(n) : times.test(key) ? n * PACE : n))
  const patience = { quietMs: quietMs * PACE, maxMs: MAX_MS * PACE, startupMs: paced(startupMs) }
  const steps = file(`${name}.json`, JSON.stringify({ ...script, cases: slowed, ...patience }))
  const plan = ['--plane', plane, '--controller', controller, '--crds-from', SHARED, '-o', out, '--only', only.join()]
  await run(process.execPath, [join(TRACES, 'drive.mjs'), steps, ...plan], { seconds: LIMIT_SECONDS, env })
  return withNumbers(readJson(out) as Recording, (key, n) => (times.test(key) ? n / PACE : n))
}

function withNumbers<T>(value: T, change: (key: string, n: number) => number): T {
  return JSON.parse(JSON.stringify(value), (key, member) => (typeof member === 'number' ? change(key, member) : member))
}

/**
 * Asserts that what differs is meant.
 *
 * @param ignored paths that are not compared
 * @param always headings of rules that are about ignored paths
 * @returns how many cases there are, and which rules tell where they differ
 */
export async function judge(
  { name, ours }: { readonly name: string; readonly ours: Recording },
  rules: readonly Rule[],
  { ignored, always = [] }: { readonly ignored: string; readonly always?: readonly string[] },
): Promise<string> {
  const used = new Set<string>(always)
  const unexplained = (await differencesIn(name, ours, ignored)).filter((difference) => {
    const rule = rules.find(({ holds }) => holds(difference))
    if (rule !== undefined) used.add(rule.heading)
    return rule === undefined
  })
  assert.deepEqual(
    unexplained.map(({ id, line }) => `${id}: ${line}`),
    [],
  )
  const deviations = readFileSync(DEVIATIONS, 'utf8')
  for (const heading of used) assert(deviations.includes(`\n### ${heading}\n`), `no rule ${heading}`)
  const differing = used.size === 0 ? '' : `, differing by ${[...used].sort().join('; ')}`
  return `${ours.cases.length} cases${differing}`
}

/** As the tool that came with the recordings sees them. */
async function differencesIn(name: string, ours: Recording, ignored: string): Promise<readonly Difference[]> {
  const { cases: all } = readJson(join(TRACES, 'recordings', `${name}.json`)) as Recording
  const cases = all.filter(({ id }) => ours.cases.some((own) => own.id === id))
  assert.equal(cases.length, ours.cases.length, `recorded cases of ${name}`)
  const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-diff-'))
  try {
    const differences: Difference[] = []
    for (const theirs of cases) {
      const { id } = theirs
      const own = ours.cases.find((each) => each.id === id)!
      const told = await linesOf({ theirs, own, ignored, folder })
      const found = told.map((line) => ({ ...readLine(line), id, line, recorded: theirs, own }))
      differences.push(...(theirs.compare === 'sets' ? oneByOne(found, ignored) : found))
    }
    return differences
  } finally {
    rmSync(folder, { recursive: true })
  }
}

interface Compared {
  readonly theirs: Case
  readonly own: Case
  readonly ignored: string
  readonly folder: string
}

/** What the tool tells of one case. It tells of 30 differences at most: then of each half alone. */
async function linesOf({ theirs, own, ignored, folder }: Compared): Promise<readonly string[]> {
  const files = Object.entries({ theirs, own }).map(([side, only]) => {
    const file = join(folder, `${side}.json`)
    writeFileSync(file, JSON.stringify({ cases: [only] }))
    return file
  })
  // it ends with 1 where there are differences
  const diff = `"$0" "$@" || true`
  const args = ['-c', diff, process.execPath, join(TRACES, 'diff.mjs'), ...files, '--ignore', ignored]
  const lines = (await run('bash', args)).trim().split('\n')
  assert.match(lines.at(-1) ?? '', /^[01] passed, [01] failed$/)
  const told = lines.slice(1, -1).map((line) => line.trim())
  // one side has no object at the end: each object of the other one is told of
  if (told.length < MAX_TOLD) return told.filter((line) => !line.startsWith(': '))
  const parts = [...theirs.steps.keys(), ...new Set([theirs, own].flatMap(({ final }) => Object.keys(final)))].filter(
    (part) => (typeof part === 'number' ? theirs.steps[part] !== NO_STEP : true),
  )
  assert(parts.length > 1 && theirs.compare !== 'sets', `${theirs.id}: ${MAX_TOLD} differences of one part`)
  const half = parts.length >> 1
  const all: string[] = []
  for (const some of [new Set(parts.slice(0, half)), new Set(parts.slice(half))]) {
    const [left, right] = [theirs, own].map((each) => partOf(each, some))
    all.push(...(await linesOf({ theirs: left!, own: right!, ignored, folder })))
  }
  return all
}

const NO_STEP = { step: {} }

/** A case with some of its steps and objects; the numbers of steps stay. */
function partOf(whole: Case, parts: ReadonlySet<number | string>): Case {
  return {
    ...whole,
    steps: whole.steps.map((step, index) => (parts.has(index) ? step : NO_STEP)),
    final: Object.fromEntries(Object.entries(whole.final).filter(([key]) => parts.has(key))),
  }
}

/**
 * `.Kind/name.path: theirs | ours`, as JSON; the name of a kind of which all are compared as a set
 * is `*`.
 */
function readLine(line: string): Pick<Difference, 'path' | 'theirs' | 'ours'> {
  const [, path = '', theirs = '', ours = ''] = /^(\S+|step \d+(?: \S+)?): (.*) \| (.*)$/.exec(line) ?? []
  return { path, theirs: leafOf(theirs), ours: leafOf(ours) }
}

/** An answer as a whole, and what is no JSON, is its text. */
function leafOf(text: string): Leaf {
  if (text === 'undefined') return undefined
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' ? text : value
  } catch {
    return text
  }
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'))
}
