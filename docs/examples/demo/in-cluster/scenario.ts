import { relative } from 'node:path'
import { Meta } from 'ipam-kit/crd'
import type { Applied } from '../apply.js'
import { formatProgress } from '../progress.js'
import type { Scenario, Stage } from '../scenario.js'
import { printable } from '../text.js'
import { admit } from './admit.js'
import { Cluster, type Settled } from './cluster.js'
import { changesBetween, deleteObject, finalizersOf } from './deletion.js'
import { examples, lastingSurprises, surprises } from './examples.js'
import type { Finding } from './finding.js'
import { watchedKinds } from './kinds.js'
import { load } from './load.js'
import {
  documentOf,
  formatBefore,
  formatDeletion,
  formatFindings,
  formatReport,
  formatWork,
  type Work,
} from './report.js'
import { countPhases, type Snapshot, snapshot } from './snapshot.js'

const whereKindsAre = `Install their CustomResourceDefinitions, with kubectl apply --server-side -f, from the folders
  core/config/crd/bases of https://github.com/kubernetes-sigs/cluster-api
  config/crd/bases of https://github.com/kubernetes-sigs/cluster-api-ipam-provider-in-cluster
"clusterctl init --ipam in-cluster" does that too, and starts the provider of that project: one provider to a pool.`

/** Manifests in, bound addresses out. */
export const inClusterScenario: Scenario = {
  kinds: watchedKinds,
  whereKindsAre,
  run: (stage) => new Run(stage).run(),
}

class Run {
  readonly #stage: Stage
  readonly #cluster: Cluster
  readonly #findings: Finding[] = []
  #applied: ReadonlyMap<string, Applied> = new Map()
  readonly #deleted: string[] = []
  #written = 0
  #releasesInSeconds: number | null = null

  constructor(stage: Stage) {
    this.#stage = stage
    this.#cluster = new Cluster(stage.store, stage.clock)
  }

  async run(): Promise<number> {
    const { options, io, lasting } = this.#stage
    const { files, deletions, store } = options
    const isExamples = files.length === 0 && deletions.length === 0 && store?.engine !== 'kubernetes'
    const takesExamples = isExamples || (files.length === 0 && lasting === undefined)
    await this.#load(takesExamples ? [relative(io.folder, examples.folder)] : files)
    await this.#settle()
    const wanted = isExamples && lasting === undefined ? examples.deletions : deletions
    const state = await this.#delete(wanted, await snapshot(this.#cluster))
    this.#report(state)
    const status = isExamples ? this.#compare(state) : this.#status(state)
    this.#stage.screen.hint('a map of each pool, and more rows of long tables')
    return status
  }

  async #load(files: readonly string[]): Promise<void> {
    const { io, screen } = this.#stage
    const { manifests, findings } = await load(files, io, (read) => screen.progress.show(() => `${read} read`))
    const admitted = await admit(manifests, this.#cluster, (done) => {
      screen.progress.show(() => `${done} of ${manifests.length} admitted`)
    })
    for (const finding of [...findings, ...admitted.findings]) this.#findings.push(finding)
    this.#applied = admitted.applied
    screen.progress.clear()
  }

  async #settle(): Promise<Settled> {
    const { progress: line } = this.#stage.screen
    const settled = await this.#cluster.settle((progress) => line.show(() => formatProgress(progress)))
    line.clear()
    this.#written += settled.written
    this.#releasesInSeconds = settled.releasesInSeconds ?? null
    for (const { key, failure } of settled.failures) {
      this.#findings.push({ action: 'failed', where: key, reason: failure.message })
    }
    return settled
  }

  /**
   * Deletes one object after the other, each when the cluster is at rest, and tells what that
   * changed.
   */
  async #delete(refs: readonly Meta.ObjectRef[], first: Snapshot): Promise<Snapshot> {
    if (refs.length === 0) return first
    const { screen } = this.#stage
    screen.tell(formatBefore(first, screen.limit))
    let before = first
    for (const ref of refs) {
      const { isDeleted, findings } = await deleteObject(this.#cluster, ref)
      this.#findings.push(...findings)
      if (!isDeleted) continue
      this.#deleted.push(Meta.formatRef(ref))
      const { waits } = await this.#settle()
      const after = await snapshot(this.#cluster)
      const heldBy = await finalizersOf(this.#cluster, ref)
      const changes = changesBetween(before, after)
      screen.tell(formatDeletion({ object: Meta.formatRef(ref), heldBy, waits, changes }, screen.limit))
      before = after
    }
    return before
  }

  #report(state: Snapshot): void {
    const { screen } = this.#stage
    for (const [object, reason] of this.#cluster.unfit) {
      this.#findings.push({ action: 'warning', where: 'in the store', object, reason })
    }
    const work = this.#work()
    if (screen.wantsDocument) {
      const told = formatFindings(this.#findings, screen.limit)
      if (told !== '') screen.tell(told)
      screen.document(documentOf(state, this.#findings, work))
    } else {
      screen.tell(formatReport(state, this.#findings, screen))
    }
    if (work !== undefined) screen.tell(formatWork(work, screen.limit))
  }

  /** Of a store that lasts. */
  #work(): Work | undefined {
    const { lasting } = this.#stage
    if (lasting === undefined) return undefined
    const named = (wanted: Applied) => [...this.#applied].filter(([, each]) => each === wanted).map(([name]) => name)
    return {
      store: lasting,
      created: named('created'),
      changed: named('changed'),
      unchanged: named('unchanged'),
      deleted: this.#deleted,
      written: this.#written,
      releasesInSeconds: this.#releasesInSeconds,
    }
  }

  #status({ claims }: Snapshot): number {
    if (this.#findings.some(({ action }) => action === 'refused' || action === 'unreadable')) return 2
    const { pending, error } = countPhases(claims)
    return pending + error > 0 || this.#findings.some(({ action }) => action === 'failed') ? 1 : 0
  }

  #compare(state: Snapshot): number {
    const wrong =
      this.#stage.lasting === undefined
        ? surprises(state, this.#findings)
        : lastingSurprises(state, this.#findings, this.#applied)
    this.#stage.screen.tell(
      wrong.length === 0
        ? 'This is what the examples are meant to come to.'
        : `Not what is expected of the examples:\n${wrong.map((line) => `  ${printable(line)}`).join('\n')}`,
    )
    return wrong.length === 0 ? 0 : 1
  }
}
