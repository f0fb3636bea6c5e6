import { relative } from 'node:path'
import { Meta } from 'ipam-kit/crd'
import { describe } from 'ipam-kit/errors'
import { admit } from './admit.js'
import { EmbeddedCluster, type Settled } from './cluster.js'
import { changesBetween, deleteObject, finalizersOf } from './deletion.js'
import type { Finding } from './finding.js'
import { load } from './load.js'
import { help, type Options, parseOptions, usage } from './options.js'
import { formatProgress, noProgress, type ProgressLine, progressLine } from './progress.js'
import { formatBefore, formatDeletion, formatDocument, formatFindings, formatReport, printable } from './report.js'
import { scenario, surprises } from './scenario.js'
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
    case 'run':
      return new Demo(parsed.options, io).run()
  }
}

class Demo {
  readonly #options: Options
  readonly #io: Io
  readonly #progress: ProgressLine
  readonly #limit: number
  readonly #cluster = new EmbeddedCluster()
  readonly #findings: Finding[] = []
  #hasTold = false

  constructor(options: Options, io: Io) {
    this.#options = options
    this.#io = io
    this.#progress = io.isTerminal || options.progress ? progressLine(io.err) : noProgress
    this.#limit = options.all ? Number.POSITIVE_INFINITY : ROWS
  }

  async run(): Promise<number> {
    const { files, deletions } = this.#options
    const isScenario = files.length === 0 && deletions.length === 0
    await this.#load(files.length === 0 ? [relative(this.#io.folder, scenario.folder)] : files)
    await this.#settle()
    const state = await this.#delete(isScenario ? scenario.deletions : deletions, await snapshot(this.#cluster))
    this.#report(state)
    return isScenario ? this.#compare(state) : this.#status(state)
  }

  async #load(files: readonly string[]): Promise<void> {
    const { manifests, findings } = await load(files, this.#io, (read) => this.#progress.show(() => `${read} read`))
    const refusals = await admit(manifests, this.#cluster, (done) => {
      this.#progress.show(() => `${done} of ${manifests.length} admitted`)
    })
    for (const finding of [...findings, ...refusals]) this.#findings.push(finding)
    this.#progress.clear()
  }

  async #settle(): Promise<Settled> {
    const settled = await this.#cluster.settle((progress) => this.#progress.show(() => formatProgress(progress)))
    this.#progress.clear()
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
    if (format === 'table') {
      this.#tell(formatReport(state, this.#findings, this.#limit))
      return
    }
    const told = formatFindings(this.#findings, this.#limit)
    if (told !== '') this.#tell(told)
    this.#io.out(formatDocument(state, this.#findings, format))
  }

  #status({ claims }: Snapshot): number {
    if (this.#findings.some(({ action }) => action === 'refused' || action === 'unreadable')) return 2
    const { pending, error } = countPhases(claims)
    return pending + error > 0 || this.#findings.some(({ action }) => action === 'failed') ? 1 : 0
  }

  #compare(state: Snapshot): number {
    const wrong = surprises(state, this.#findings)
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
