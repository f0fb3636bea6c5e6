import assert from 'node:assert/strict'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Delta } from 'ipam-kit/plan'
import type { ControllerProblem } from 'ipam-kit/run'
import { timers } from '../blocks/ground.js'
import { Client } from '../controller/client.js'
import { importClient } from '../servers/install.js'
import type { RealKubernetes } from '../servers/kubernetes.js'
import { type Line, openLine, storeOver } from './line.js'
import { keyOf } from './pods.js'
import { podPlanner, trimmedPods } from './watches.js'
import { Work } from './work.js'

const PAGE = 500
/** How many Pods of each sort a failure names. */
const NAMED = 5

/** Pods by name: the uid and the version of each. */
type Pods = ReadonlyMap<string, string>

/** All Pods, followed by a planner in a Controller. */
export class Followed {
  readonly line: Line
  readonly problems: ControllerProblem[] = []
  readonly #server: RealKubernetes
  /** As the planner was told by deltas alone. */
  readonly #told = new Map<string, string>()
  readonly #pods: ReturnType<typeof podPlanner>['pods']
  readonly #work: Work

  private constructor(server: RealKubernetes, line: Line) {
    this.#server = server
    this.line = line
    const { planner, pods } = podPlanner(trimmedPods(), (delta) => this.#take(delta))
    this.#pods = pods
    const onProblem = (problem: ControllerProblem) => void this.problems.push(problem)
    this.#work = new Work({ store: storeOver(line), planners: [planner], timers, onProblem })
  }

  static async open(server: RealKubernetes): Promise<Followed> {
    return new Followed(server, await openLine(server.kubeconfig.path, importClient))
  }

  /** Lists and watches. Resolves when all are listed. */
  start(): Promise<void> {
    return this.#work.start()
  }

  stop(): Promise<void> {
    return this.#work.stop()
  }

  /**
   * Waits until the planner and its cache have exactly the Pods of the API server, each in its
   * present version.
   *
   * @returns how many Pods
   */
  async assertEqual(): Promise<number> {
    const stored = await podsOf(this.#server)
    const differences = () => [...compare('told', this.#told, stored), ...compare('cached', this.#cached(), stored)]
    const isEqual = () => differences().length === 0
    await this.#work.until('the planner has other Pods than the server', isEqual, () => differences().join('\n'))
    return stored.size
  }

  #take({ ref, now }: Delta<string>): void {
    const key = keyOf({ metadata: ref })
    if (now === undefined) this.#told.delete(key)
    else this.#told.set(key, versionOf(now.object))
  }

  #cached(): Pods {
    const pods = this.#pods()
    return new Map([...pods.names()].map((key) => [key, versionOf(pods.entry(key)!.object)]))
  }
}

function versionOf({ metadata: { uid, resourceVersion } }: KubeObject): string {
  return `${uid} ${resourceVersion}`
}

/** What the API server has, read page by page. */
async function podsOf(server: RealKubernetes): Promise<Pods> {
  const admin = new Client(server, 1)
  try {
    const pods = new Map<string, string>()
    for (let next = ''; ; ) {
      const path = `/api/v1/pods?limit=${PAGE}${next === '' ? '' : `&continue=${next}`}`
      const page = await admin.send<{ items: KubeObject[]; metadata: { continue?: string } }>('GET', path)
      for (const pod of page.items) pods.set(keyOf(pod), versionOf(pod))
      next = page.metadata.continue ?? ''
      if (next === '') return pods
    }
  } finally {
    admin.close()
  }
}

function compare(where: string, found: Pods, stored: Pods): readonly string[] {
  const lost = [...stored.keys()].filter((key) => !found.has(key))
  const ghosts = [...found.keys()].filter((key) => !stored.has(key))
  const old = [...stored].filter(([key, version]) => found.has(key) && found.get(key) !== version).map(([key]) => key)
  return Object.entries({ lost, ghosts, old }).flatMap(([what, keys]) => {
    return keys.length === 0 ? [] : [`${where}: ${keys.length} ${what}, such as ${keys.slice(0, NAMED).join(', ')}`]
  })
}

/** Fails if a Controller has had any other problem than that the API server was away. */
export function assertOnlyUnreachable(problems: readonly ControllerProblem[]): void {
  const others = problems.filter((problem) => problem.kind !== 'informer' || problem.failure.code !== 'STORE_IO')
  assert.deepEqual(others, [])
}
