import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { Dice } from '../../../src/testing/index.js'
import { definitionOf } from '../kubernetes/definitions.js'
import { paced } from '../pace.js'
import type { Part, Report } from '../report.js'
import { type RealKubernetes, startKubernetes } from '../servers/kubernetes.js'
import { namedCases } from './cases.js'
import { Graph, shownAct } from './graphs.js'
import { Pair } from './pair.js'
import { isSame, kinds, partOf, type Side } from './side.js'

/** How many graphs, and how many steps each of them is taken on. */
const SIZES = { full: { graphs: 60, rounds: 8 }, short: { graphs: 12, rounds: 4 } }
const PATIENCE_MS = paced(20_000)
/** How long the server may still change its mind after it has come to the same end. */
const REST_MS = paced(3000)

/** The planner of `ipam-kit/provider/gc`, beside the collector that it stands in for. */
export const gc: Part = {
  name: 'gc',
  about: 'gcPlanner on a store in memory leaves what the garbage collector of kube-controller-manager leaves',
  async run(report, depth) {
    const controllerFlags = ['--kube-api-qps=1000', '--kube-api-burst=1000']
    const server = await startKubernetes({ crds: kinds.map(definitionOf), controllerFlags })
    try {
      console.log(`  Kubernetes ${server.version}`)
      const pair = new Pair(server)
      await sameGraphs(report, { server, pair, ...SIZES[depth] })
      await namedCases(report, server, pair)
    } finally {
      await server.stop()
    }
  },
}

interface Graphs {
  readonly server: RealKubernetes
  readonly pair: Pair
  readonly graphs: number
  readonly rounds: number
}

async function sameGraphs(report: Report, { server, pair, graphs: count, rounds }: Graphs): Promise<void> {
  let graphs = Array.from({ length: count }, (_, index) => new Graph(index + 1, new Dice(index + 1)))
  for (const name of graphs.flatMap(({ seed }) => [`g${seed}-a`, `g${seed}-b`])) {
    await server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  }
  let acts = 0
  for (let round = 0; round <= rounds; round++) {
    await report.test(`${graphs.length} graphs are left alike, round ${round}`, async () => {
      const state = await pair.ours.state()
      for (const graph of graphs) {
        const next = round === 0 ? graph.begin() : graph.next(state)
        for (const act of [next ?? []].flat()) {
          await pair.act(act)
          acts++
        }
      }
      const expected = await pair.collect()
      const actual = await stateOf(pair.theirs, (state) => graphs.every((graph) => isAlike(graph, expected, state)))
      const different = graphs.filter((graph) => !isAlike(graph, expected, actual))
      graphs = graphs.filter((graph) => !different.includes(graph))
      assert.equal(different.map((graph) => differenceIn(graph, expected, actual)).join('\n'), '')
      return `${acts} steps so far, ${expected.size} objects`
    })
  }
  await report.test('and stay so', async () => {
    await sleep(REST_MS)
    const [expected, actual] = [await pair.collect(), await pair.theirs.state()]
    const different = graphs.filter((graph) => !isAlike(graph, expected, actual))
    assert.equal(different.map((graph) => differenceIn(graph, expected, actual)).join('\n'), '')
    return undefined
  })
}

/** What is left on a side when it is as it should be, or when patience has come to an end. */
async function stateOf(
  side: Side,
  isFine: (state: ReadonlyMap<string, string>) => boolean,
): Promise<ReadonlyMap<string, string>> {
  for (const end = Date.now() + PATIENCE_MS; ; await sleep(100)) {
    const state = await side.state()
    if (isFine(state) || Date.now() > end) return state
  }
}

function isAlike(graph: Graph, ours: ReadonlyMap<string, string>, theirs: ReadonlyMap<string, string>): boolean {
  const isIn = (place: string) => graph.isIn(place)
  return isSame(partOf(ours, isIn), partOf(theirs, isIn))
}

function differenceIn(graph: Graph, ours: ReadonlyMap<string, string>, theirs: ReadonlyMap<string, string>): string {
  const part = (state: ReadonlyMap<string, string>) =>
    JSON.stringify(
      partOf(state, (place) => graph.isIn(place)),
      null,
      1,
    )
  return [`seed ${graph.seed}`, ...graph.acts.map(shownAct), 'ours', part(ours), 'theirs', part(theirs), ''].join('\n')
}
