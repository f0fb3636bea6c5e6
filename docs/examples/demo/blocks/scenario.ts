import { Address } from 'ipam-kit/cidr'
import { Meta } from 'ipam-kit/crd'
import { IPPool } from 'ipam-kit/crd/ipam-kit'
import { sleep } from 'ipam-kit/node'
import { blocksOperator } from 'ipam-kit/provider/blocks'
import { type RunTaskOptions, runUntilQuiet } from 'ipam-kit/run'
import { reasonIn } from '../admitted-store.js'
import { type Applied, apply } from '../apply.js'
import { formatProgress } from '../progress.js'
import type { Scenario, Stage } from '../scenario.js'
import { lines, section } from '../text.js'
import { casts, isOurs, kinds, pools } from './cast.js'
import { checksOf } from './checks.js'
import { CountedStore } from './counted-store.js'
import { documentOf, formatReport, formatVerdict, formatWork, type Outcome, type Work } from './report.js'
import { readStored } from './stored.js'
import { Writer } from './writer.js'

/** Three writers at once on one store, and none knows of the others. */
export const blocksScenario: Scenario = {
  kinds,
  whereKindsAre: `Install their CustomResourceDefinitions:
  npx tsx docs/examples/blocks/definitions.ts | kubectl apply --server-side -f -`,
  run: (stage) => new Run(stage).run(),
}

/** All writers at once, and then the operator. */
interface Round {
  readonly writers: readonly Writer[]
  readonly operator: CountedStore
}

class Run {
  readonly #stage: Stage
  readonly #surprises: string[] = []
  readonly #warnings: string[] = []

  constructor(stage: Stage) {
    this.#stage = stage
  }

  async run(): Promise<number> {
    const applied = await this.#apply()
    // until the operator has taken them into their domains, pools give nothing
    const before = await this.#operate()
    const first = await this.#round()
    const stored = await readStored(this.#stage.store)
    const second = await this.#round()
    const checks = checksOf({
      pods: casts.flatMap((cast) => cast.pods),
      pools: pools.map(({ metadata }) => metadata.name),
      stored,
      told: [first, second].map(toldIn),
      surprises: this.#surprises,
      again: writtenIn(second).filter(isOurs).map(Meta.formatRef),
    })
    const written = before.written.length + writtenIn(first).length + writtenIn(second).length
    this.#report({ writers: first.writers, stored, checks }, { applied, written })
    return checks.every(({ wrong }) => wrong.length === 0) ? 0 : 1
  }

  async #apply(): Promise<readonly Applied[]> {
    const { store } = this.#stage
    const all: Applied[] = []
    for (const pool of pools) {
      const name = Meta.formatRef(Meta.refOf(pool))
      const warnings = new Set<string>()
      const outcome = await apply(
        pool,
        IPPool,
        store.withWarnings((warning) => warnings.add(warning)),
      )
      this.#warnings.push(...[...warnings].map((warning) => `${name}: Warning: ${warning}`))
      if ('applied' in outcome) all.push(outcome.applied)
      else {
        const { failure } = outcome
        const reason = failure.code === 'STORE_INVALID' ? reasonIn(failure) : failure.message
        this.#surprises.push(`${name} refused: ${reason}`)
      }
    }
    return all
  }

  async #operate(): Promise<CountedStore> {
    const { clock, screen } = this.#stage
    const store = new CountedStore(this.#stage.store)
    const { failures } = await runUntilQuiet(store, [blocksOperator()], {
      now: () => clock.nowMs,
      onProgress: (progress) => screen.progress.show(() => formatProgress(progress)),
    })
    screen.progress.clear()
    for (const { key, failure } of failures) {
      const [kind = '', name = ''] = key.split(' ')
      if (isOurs({ kind, name })) this.#surprises.push(`${key}: ${failure.message}`)
    }
    return store
  }

  async #round(): Promise<Round> {
    const { clock, screen, lasting } = this.#stage
    const options: RunTaskOptions = { now: () => clock.nowMs, ...(lasting === undefined ? {} : { pause }) }
    const writers = casts.map((cast) => new Writer(cast, this.#stage.store, options))
    const total = casts.reduce((sum, { pods }) => sum + pods.length, 0)
    let done = 0
    const onDone = () => {
      done++
      screen.progress.show(() => `${done} of ${total} Pods`)
    }
    // if one of them fails, the store is needed until the others have ended too
    const ended = await Promise.allSettled(writers.map((writer) => writer.work(onDone)))
    for (const each of ended) if (each.status === 'rejected') throw each.reason
    screen.progress.clear()
    this.#surprises.push(...writers.flatMap(({ surprises }) => surprises))
    return { writers, operator: await this.#operate() }
  }

  #report(outcome: Outcome, done: Omit<Work, 'store'>): void {
    const { screen, lasting } = this.#stage
    const work = lasting === undefined ? undefined : { store: lasting, ...done }
    if (this.#warnings.length > 0) screen.tell(section('Warnings', lines(this.#warnings, screen.limit)))
    if (screen.wantsDocument) screen.document(documentOf(outcome, work))
    else screen.tell(formatReport(outcome, screen))
    if (work !== undefined) screen.tell(formatWork(work))
    screen.tell(formatVerdict(outcome.checks, screen))
    screen.hint('each block with its map, the conditions of pools, and each check')
  }
}

function toldIn({ writers }: Round): ReadonlyMap<string, readonly string[]> {
  const told = writers.flatMap((writer) => writer.told)
  return new Map(
    told.map(({ pod, allocations }) => [pod.uid, allocations.map(({ address }) => Address.format(address))]),
  )
}

function writtenIn({ writers, operator }: Round): readonly Meta.ObjectRef[] {
  return [...writers.map(({ store }) => store), operator].flatMap(({ written }) => written)
}

/** After a conflict, a wait that those who met do not have in common. */
async function pause(conflicts: number): Promise<void> {
  await sleep(Math.random() * Math.min(conflicts, 8) * 5)
}
