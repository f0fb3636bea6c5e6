import { unwrap } from 'ipam-kit/errors'
import { whereaboutsSweep } from 'ipam-kit/provider/whereabouts'
import { runUntilQuiet } from 'ipam-kit/run'
import { formatChecks } from '../checks.js'
import { formatProgress } from '../progress.js'
import type { Scenario, Stage } from '../scenario.js'
import { checksOf } from './checks.js'
import { kinds, NODES, podObject, podRef, started } from './objects.js'
import { documentOf, formatStep, formatWriters } from './report.js'
import { type Snapshot, snapshot } from './snapshot.js'
import { Upgrade } from './upgrade.js'
import { Writer } from './writer.js'

/** The plugins of four Nodes give addresses at once, some of them crash, and the sweep repairs. */
export const whereaboutsScenario: Scenario = {
  kinds,
  whereKindsAre: 'Install the definitions of whereabouts.',
  run: (stage) => new Run(stage).run(),
}

class Run {
  readonly #stage: Stage
  readonly #writers: readonly Writer[]
  readonly #sweep = whereaboutsSweep({ claims: false, createReservations: false })
  readonly #snapshots: Snapshot[] = []
  readonly #upgrade: Upgrade
  #isUpgraded = false

  constructor(stage: Stage) {
    this.#stage = stage
    this.#upgrade = new Upgrade(stage)
    this.#writers = NODES.map((node) => new Writer(node, stage.store, { now: () => stage.clock.nowMs }))
  }

  async run(): Promise<number> {
    const { screen } = this.#stage
    const [one, , three, four] = this.#writers as [Writer, Writer, Writer, Writer]
    await this.#together((writer, nth) => this.#start(writer, `web-${nth + 1}`))
    await this.#together((writer, nth) => this.#start(writer, `web-${nth + 5}`))
    await this.#show('The plugins of 4 Nodes add 8 Pods at once')

    await this.#create(four, 'web-9')
    await four.addAndCrash('web-9')
    await three.delAndCrash('web-3')
    await this.#show('The plugin crashes between its two writes: in the ADD of web-9, and in the DEL of web-3')

    for (const pod of ['web-9', 'web-3', 'web-4']) await this.#remove(pod)
    four.told.delete('web-4')
    await this.#show('The Pods web-3 and web-9 are deleted, and web-4 without a DEL')

    await this.#show('The sweep frees what no Pod has', await this.#settle())
    await this.#start(one, 'web-10')
    await this.#show('The Pod web-10 gets the lowest free address')

    await this.#upgrades(three, four)
    await this.#rollsBack(one)
    await this.#goesThrough(one)
    await this.#together(async (writer) => {
      for (const pod of [...writer.told.keys()]) {
        await writer.del(pod)
        await this.#remove(pod)
      }
    })
    await this.#show('All Pods are deleted')

    const { written } = await this.#settle()
    const surprises = [...this.#writers, this.#upgrade].flatMap((each) => each.surprises)
    const checks = checksOf({ snapshots: this.#snapshots, surprises, again: written })
    if (screen.wantsDocument) screen.document(documentOf(this.#snapshots, this.#writers, checks))
    if (screen.isVerbose) screen.tell(formatWriters(this.#writers, screen.limit))
    screen.tell(formatChecks(checks, screen))
    screen.hint('how the tasks of an upgrade end, Events, the work of each writer, and each check')
    return checks.every(({ wrong }) => wrong.length === 0) ? 0 : 1
  }

  /** An upgrade of the pool to blocks begins, and finds another writer. */
  async #upgrades(three: Writer, four: Writer): Promise<void> {
    const upgrade = this.#upgrade
    await upgrade.prepare()
    this.#isUpgraded = true
    await upgrade.run(['startUpgrade', 'phase'], ['copyRows', 'same'])
    await this.#show('An upgrade to blocks starts, and copies the rows')

    await this.#start(three, 'web-11')
    await this.#create(four, 'web-12')
    await upgrade.writeAsUpstream('web-12', '10.10.0.10')
    await this.#report('web-12', '10.10.0.10')
    four.told.set('web-12', '10.10.0.10')
    await upgrade.run(['verifyUpgrade', 'different'])
    await this.#show('web-11 has rows on both sides, and web-12 was added by a plugin of upstream')

    await upgrade.run(['copyRows', 'same'], ['verifyUpgrade', 'same'])
    await this.#show('Without that plugin the rows are copied again, and both sides are the same')
  }

  /** After the cut-over the definition has the type of blocks, and gets its former one again. */
  async #rollsBack(one: Writer): Promise<void> {
    const upgrade = this.#upgrade
    await upgrade.run(['cutOver', 'phase'])
    this.#setType('ipam-kit')
    await this.#start(one, 'web-13')
    await this.#show('After the cut-over, web-13 is added with the type ipam-kit: it has a row of the block alone')

    this.#setType('whereabouts')
    await upgrade.run(['rollBack', 'phase', 'dual-write'], ['verifyUpgrade', 'same'])
    await this.#show('With the type whereabouts again, a roll-back gives web-13 its row in the pool')

    await upgrade.run(['rollBack', 'phase', 'none'])
    await this.#start(one, 'web-14')
    await this.#show('After a second roll-back the upgrade has ended, and web-14 has no row of the block')
  }

  async #goesThrough(one: Writer): Promise<void> {
    const upgrade = this.#upgrade
    await upgrade.run(['startUpgrade', 'phase'], ['copyRows', 'same'], ['cutOver', 'phase'], ['verifyUpgrade', 'same'])
    await this.#show('The upgrade starts again, and goes to the cut-over')

    this.#setType('ipam-kit')
    await upgrade.run(['finishUpgrade', 'phase'])
    await this.#start(one, 'web-15')
    await this.#show('With the type ipam-kit the upgrade is finished: the pool is empty, and each Pod has its address')
  }

  #setType(type: Writer['type']): void {
    for (const writer of this.#writers) writer.type = type
  }

  async #together(act: (writer: Writer, nth: number) => Promise<void>): Promise<void> {
    await Promise.all(this.#writers.map(act))
  }

  async #create(writer: Writer, pod: string): Promise<void> {
    this.#stage.clock.tick()
    unwrap(await this.#stage.store.create(podObject(pod, writer.node)))
  }

  /** A Pod that gets its address, and runs. */
  async #start(writer: Writer, pod: string): Promise<void> {
    await this.#create(writer, pod)
    const address = await writer.add(pod)
    if (address !== undefined) await this.#report(pod, address)
  }

  async #report(pod: string, address: string): Promise<void> {
    const { store } = this.#stage
    unwrap(await store.patch(podRef(pod), started(address)))
    unwrap(await store.patch(podRef(pod), { status: { phase: 'Running' } }, { subresource: 'status' }))
  }

  async #remove(pod: string): Promise<void> {
    unwrap(await this.#stage.store.delete(podRef(pod)))
  }

  async #show(title: string, { events }: { readonly events: readonly string[] } = { events: [] }): Promise<void> {
    const { screen, store } = this.#stage
    const upgrade = this.#isUpgraded ? this.#upgrade.told() : undefined
    const now = await snapshot(store, this.#writers, { title, events, upgrade })
    this.#snapshots.push(now)
    if (!screen.wantsDocument) screen.tell(formatStep(now, screen))
  }

  async #settle() {
    const { store, clock, screen } = this.#stage
    const events: string[] = []
    const { written } = await runUntilQuiet(store, [this.#sweep], {
      now: () => clock.nowMs,
      onEvent: ({ reason, message }) => events.push(`${reason}: ${message}`),
      onProgress: (progress) => screen.progress.show(() => formatProgress(progress)),
    })
    screen.progress.clear()
    return { events, written }
  }
}
