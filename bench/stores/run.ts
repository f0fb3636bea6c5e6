// npm run bench:stores -- [--require] [--counts] [--only TEXT] [--no-gate] [--json FILE] [--page
// FILE]
//
// Measures dist/, the package as it is published.
//
// What a store takes, beside its client alone doing the same: on real servers, which are installed,
// started and stopped here. A store whose server cannot be had is left out; with --require that is
// an error. With --counts on any machine, however busy: fewer samples, and a row fails only where
// it is ten times above its limit.
import { parseArgs } from 'node:util'
import { installClients } from '../../test/real/servers/install.js'
import { readBudget, storeGoals } from '../budget.js'
import { asRatio, Gate, heldBy, type Judged, type Words } from '../gate.js'
import { nodeName } from '../page.js'
import { asTime, OPTIONS, Report } from '../report.js'
import type { Bench } from './calls.js'
import { CARE, measureAlone, measureBoth } from './measure.js'
import { stores } from './stores.js'
import { type StoreWork, works } from './works.js'

const { values } = parseArgs({ options: { ...OPTIONS, require: { type: 'boolean' } } })
const isWanted = (work: string, store: string) => values.only === undefined || `${work}, ${store}`.includes(values.only)

const words: Words = {
  found: (ratio, peer) => `${asRatio(1 / ratio)} the time of its client alone (${peer})`,
  missed: (floor) => `is above the limit ${asRatio(1 / floor)}`,
  goal: (ratio) => asRatio(1 / ratio),
}
const held = heldBy(values)
const budget = readBudget()
const workNames = works.map(({ name }) => name)
const gate = new Gate(budget, storeGoals(budget.stores, workNames, Object.keys(stores)), { held, words })
const report = new Report(['work', 'store', 'ours', 'client alone', 'ours, per second', 'overhead', 'goal', 'limit'])
const versions: string[] = []

await installClients()
for (const [store, start] of Object.entries(stores)) {
  const wanted = works.filter(({ name }) => isWanted(name, store))
  if (wanted.length > 0) await measureStore(store, start, wanted)
}
for (const [work, shortfalls] of Object.entries(budget.stores.reached)) {
  for (const store of Object.keys(shortfalls)) {
    if (!workNames.includes(work)) gate.fail(`${work}: in bench/budget.json, and no such benchmark`)
    if (!(store in stores)) gate.fail(`${work}: ${store} is in bench/budget.json, and no such store`)
  }
}
const about = `Measured with ${versions.join('; ')}.`
report.finish(gate, `Stores beside their clients, ${nodeName()}`, { ...values, about })

async function measureStore(store: string, start: () => Promise<Bench>, wanted: readonly StoreWork[]): Promise<void> {
  let bench: Bench
  try {
    bench = await start()
  } catch (error) {
    const problem = `${store} is left out: ${error instanceof Error ? error.message : error}`
    console.log(problem)
    if (values.require === true) gate.fail(problem)
    return
  }
  try {
    versions.push(bench.versions)
    for (const work of wanted) await measureWork(store, bench, work)
  } finally {
    await bench.close()
  }
}

async function measureWork(store: string, bench: Bench, work: StoreWork): Promise<void> {
  const { ours, raw } = bench
  await work.prepare?.(bench)
  if (raw === undefined) {
    const oursNs = await measureAlone(work.side(ours), CARE[held])
    report.row({ work: work.name, store, oursNs }, [work.name, store, asTime(oursNs), '-', rate(oursNs), '-', '-', '-'])
    return
  }
  await work.check({ ...bench, raw })
  const sides = () => ({ ours: work.side(ours), raw: work.side(raw), care: CARE[held] })
  const once = async () => [await measureBoth(work.name, store, sides())]
  for (const result of await gate.measure(work.name, [store], once)) report.row(...rowOf(result))
}

function rowOf(result: Judged): [result: object, cells: string[]] {
  const { target, work, peer: store, oursNs, theirsNs, ratio, attempts } = result
  const { goal, floor, note = 'within the slack' } = target!
  const overhead = asRatio(1 / ratio)
  if (ratio < goal) report.note(`${work}, ${store}: goal ${asRatio(1 / goal)}, reached ${overhead}: ${note}`)
  return [
    { work, store, oursNs, rawNs: theirsNs, overhead: 1 / ratio, goal: 1 / goal, limit: 1 / floor },
    [
      work,
      store,
      asTime(oursNs),
      asTime(theirsNs),
      rate(oursNs),
      attempts === 1 ? overhead : `${overhead}, best of ${attempts}`,
      asRatio(1 / goal),
      asRatio(1 / floor),
    ],
  ]
}

function rate(ns: number): string {
  const perSecond = 1e9 / ns
  return perSecond < 100 ? perSecond.toFixed(1) : Math.round(perSecond).toLocaleString('en')
}
