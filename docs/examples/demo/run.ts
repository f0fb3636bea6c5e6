import { relative } from 'node:path'
import { Meta } from 'ipam-kit/crd'
import { describe, IpamError } from 'ipam-kit/errors'
import {
  formatAddress,
  type Load,
  openStore,
  type StoreAddress,
  StoreNotOpened,
  withoutSecrets,
} from '../open-store.js'
import { admit } from './admit.js'
import type { Applied } from './apply.js'
import { Cluster, type Settled } from './cluster.js'
import { changesBetween, deleteObject, finalizersOf } from './deletion.js'
import type { Finding } from './finding.js'
import { watchedKinds } from './kinds.js'
import { load } from './load.js'
import { help, type Options, parseOptions, usage } from './options.js'
import { formatProgress, noProgress, type ProgressLine, progressLine } from './progress.js'
import {
  formatBefore,
  formatDeletion,
  formatDocument,
  formatFindings,
  formatReport,
  formatWork,
  printable,
  type Work,
} from './report.js'
import { lastingSurprises, scenario, surprises } from './scenario.js'
import { countPhases, type Snapshot, snapshot } from './snapshot.js'

/** Everything outside this program that it touches. */
export interface Io {
  /** Where relative file names begin. */
  readonly folder: string
  readonly stdin: NodeJS.ReadableStream
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Whether `err` is a terminal. */
  readonly isTerminal: boolean
  /** Loads the client of a store. Default: from the packages of this project. */
  readonly load?: Load
}

const ROWS = 50

/** The demo: arguments in, exit status out. */
export async function runDemo(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseOptions(args)
  switch (parsed.kind) {
    case 'help':
      io.out(help)
      return 0
    case 'mistake':
      io.err(`${printable(parsed.message)}\n${usage}Try --help.\n`)
      return 2
    case 'run': {
      const { options } = parsed
      const { store: address } = options
      return address === undefined
        ? new Demo({ options, io, cluster: Cluster.inMemory() }).run()
        : runOver(address, options, io)
    }
  }
}

/** Over a store that may not be there, and may go away. */
async function runOver(address: StoreAddress, options: Options, io: Io): Promise<number> {
  const load: Load = io.load ?? ((name) => import(name))
  try {
    const { store, close } = await openStore(address, { kinds: watchedKinds, load, folder: io.folder })
    try {
      return await new Demo({ options, io, cluster: Cluster.over(store), lasting: formatAddress(address) }).run()
    } finally {
      await close().catch(() => {})
    }
  } catch (error) {
    const failed = problemIn(error, address)
    if (failed === undefined) throw error
    io.err(`${failed.message.split('\n').map(printable).join('\n')}\n`)
    return failed.status
  }
}

/** What is the matter with a store, in words for people; `undefined` for anything else. */
function problemIn(
  error: unknown,
  address: StoreAddress,
): { readonly message: string; readonly status: 1 | 2 } | undefined {
  if (error instanceof StoreNotOpened) {
    const message = error.why === 'kinds-missing' ? `${error.message}\n${whereKindsAre}` : error.message
    return { message, status: error.why === 'client-missing' ? 2 : 1 }
  }
  if (!(error instanceof IpamError && error.code.startsWith('STORE_'))) return undefined
  const rest =
    error.code === 'STORE_OUTCOME_UNKNOWN'
      ? 'It may still be done. Run this again when the store answers, and has ended whatever it was asked for before.'
      : 'What was written before stays; the next run goes on from there.'
  return { message: `${formatAddress(address)}: ${withoutSecrets(error.message, address)}\n${rest}`, status: 1 }
}

const whereKindsAre = `Install their CustomResourceDefinitions, with kubectl apply --server-side -f, from the folders
  core/config/crd/bases of https://github.com/kubernetes-sigs/cluster-api
  config/crd/bases of https://github.com/kubernetes-sigs/cluster-api-ipam-provider-in-cluster
"clusterctl init --ipam in-cluster" does that too, and starts the provider of that project: one provider to a pool.`

interface DemoParts {
  readonly options: Options
  readonly io: Io
  readonly cluster: Cluster
  /** The store, as it may be shown, if it is one that lasts. */
  readonly lasting?: string
}

class Demo {
  readonly #options: Options
  readonly #io: Io
  readonly #progress: ProgressLine
  readonly #limit: number
  readonly #cluster: Cluster
  readonly #lasting: string | undefined
  readonly #findings: Finding[] = []
  #applied: ReadonlyMap<string, Applied> = new Map()
  readonly #deleted: string[] = []
  #written = 0
  #releasesInSeconds: number | null = null
  #hasTold = false

  constructor({ options, io, cluster, lasting }: DemoParts) {
    this.#options = options
    this.#io = io
    this.#progress = io.isTerminal || options.progress ? progressLine(io.err) : noProgress
    this.#limit = options.all ? Number.POSITIVE_INFINITY : ROWS
    this.#cluster = cluster
    this.#lasting = lasting
  }

  async run(): Promise<number> {
    try {
      return await this.#run()
    } finally {
      this.#progress.clear()
    }
  }

  async #run(): Promise<number> {
    const { files, deletions, store } = this.#options
    const isScenario = files.length === 0 && deletions.length === 0 && store?.engine !== 'kubernetes'
    const takesExamples = isScenario || (files.length === 0 && this.#lasting === undefined)
    await this.#load(takesExamples ? [relative(this.#io.folder, scenario.folder)] : files)
    await this.#settle()
    const wanted = isScenario && this.#lasting === undefined ? scenario.deletions : deletions
    const state = await this.#delete(wanted, await snapshot(this.#cluster))
    this.#report(state)
    return isScenario ? this.#compare(state) : this.#status(state)
  }

  async #load(files: readonly string[]): Promise<void> {
    const { manifests, findings } = await load(files, this.#io, (read) => this.#progress.show(() => `${read} read`))
    const admitted = await admit(manifests, this.#cluster, (done) => {
      this.#progress.show(() => `${done} of ${manifests.length} admitted`)
    })
    for (const finding of [...findings, ...admitted.findings]) this.#findings.push(finding)
    this.#applied = admitted.applied
    this.#progress.clear()
  }

  async #settle(): Promise<Settled> {
    const settled = await this.#cluster.settle((progress) => this.#progress.show(() => formatProgress(progress)))
    this.#progress.clear()
    this.#written += settled.written
    this.#releasesInSeconds = settled.releasesInSeconds ?? null
    for (const { key, failure } of settled.failures) {
      this.#findings.push({ action: 'failed', where: key, reason: describe(failure) })
    }
    return settled
  }

  /** Deletes one object after the other, each when the cluster is at rest, and tells what that changed. */
  async #delete(refs: readonly Meta.ObjectRef[], first: Snapshot): Promise<Snapshot> {
    if (refs.length === 0) return first
    this.#tell(formatBefore(first, this.#limit))
    let before = first
    for (const ref of refs) {
      const obstacle = await deleteObject(this.#cluster, ref)
      if (obstacle !== undefined) {
        this.#findings.push(obstacle)
        continue
      }
      this.#deleted.push(Meta.formatRef(ref))
      const { waits } = await this.#settle()
      const after = await snapshot(this.#cluster)
      const heldBy = await finalizersOf(this.#cluster, ref)
      const changes = changesBetween(before, after)
      this.#tell(formatDeletion({ object: Meta.formatRef(ref), heldBy, waits, changes }, this.#limit))
      before = after
    }
    return before
  }

  #report(state: Snapshot): void {
    const { format } = this.#options
    for (const [object, reason] of this.#cluster.unfit) {
      this.#findings.push({ action: 'warning', where: 'in the store', object, reason })
    }
    const work = this.#work()
    if (format === 'table') {
      this.#tell(formatReport(state, this.#findings, this.#limit))
    } else {
      const told = formatFindings(this.#findings, this.#limit)
      if (told !== '') this.#tell(told)
      this.#io.out(formatDocument(state, this.#findings, { format, work }))
    }
    if (work !== undefined) this.#tell(formatWork(work, this.#limit))
  }

  /** Of a store that lasts. */
  #work(): Work | undefined {
    if (this.#lasting === undefined) return undefined
    const named = (wanted: Applied) => [...this.#applied].filter(([, each]) => each === wanted).map(([name]) => name)
    return {
      store: this.#lasting,
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
      this.#lasting === undefined
        ? surprises(state, this.#findings)
        : lastingSurprises(state, this.#findings, this.#applied)
    this.#tell(
      wrong.length === 0
        ? 'This is what the examples are meant to come to.'
        : `Not what is expected of the examples:\n${wrong.map((line) => `  ${printable(line)}`).join('\n')}`,
    )
    return wrong.length === 0 ? 0 : 1
  }

  /** A paragraph for people. Standard output belongs to the document where one was asked for. */
  #tell(text: string): void {
    const write = this.#options.format === 'table' ? this.#io.out : this.#io.err
    write(`${this.#hasTold ? '\n' : ''}${text}\n`)
    this.#hasTold = true
  }
}
