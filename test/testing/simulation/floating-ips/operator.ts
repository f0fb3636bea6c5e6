import type { Dice } from 'ipam-kit/testing'
import type { WorldClock } from './clock.js'
import type { FaultKind } from './faults.js'
import { type AddressRecord, OWN_ADDRESSES, type Project } from './project.js'
import type { Trace } from './trace.js'

export interface OperatorWorld {
  readonly clock: WorldClock
  readonly trace: Trace
  readonly project: Project
  dice(kind: FaultKind): Dice
}

/** An operator of the cloud, who works by hand. */
export class Operator {
  readonly #world: OperatorWorld

  constructor(world: OperatorWorld) {
    this.#world = world
  }

  /** One step of a kind of fault. */
  async actOf(kind: FaultKind): Promise<void> {
    const dice = this.#world.dice(kind)
    if (kind === 'operator-own') this.#actOnOwn(dice)
    else if (kind === 'operator-pool') this.#actOnCreated(dice)
    else if (kind === 'quota') await this.#fillQuota(dice)
  }

  /** Detaches what is attached to ports of people. */
  detachAll(): void {
    const { project } = this.#world
    for (const record of project.existing) {
      if (project.ports.includes(project.cloud.find(record.id)?.port ?? '')) this.#detach(record)
    }
  }

  #actOnOwn(dice: Dice): void {
    const { project } = this.#world
    const text = dice.pick(OWN_ADDRESSES)
    const record = project.withText(text)
    if (record === undefined) this.#create(text)
    else if (record.creator === undefined) this.#change(record, dice, ['attach', 'detach', 'delete'])
  }

  #actOnCreated(dice: Dice): void {
    const created = this.#world.project.existing.filter(({ creator }) => creator !== undefined)
    if (created.length === 0) return
    this.#change(dice.pick(created), dice, ['attach', 'attach', 'detach', 'edit', 'copy', 'delete'])
  }

  #change(record: AddressRecord, dice: Dice, changes: readonly string[]): void {
    const { project } = this.#world
    const { cloud } = project
    const change = dice.pick(changes)
    const { id, text } = record
    const port = cloud.find(id)?.port ?? ''
    if (change === 'attach') {
      const free = project.ports.filter((each) => cloud.floatingIPs.every((other) => other.port !== each))
      if (free.length === 0) return
      // a move, if it is attached already
      const next = dice.pick(free)
      cloud.byHand.attach(id, next)
      record.touchedMs = cloud.nowMs
      this.#tell(`attach ${text} to ${next}`)
    } else if (change === 'detach') {
      if (port !== '') this.#detach(record)
    } else if (change === 'edit') {
      const description = dice.pick(['', 'used by the mail team'])
      cloud.byHand.describe(id, description)
      record.touchedMs = cloud.nowMs
      record.isEdited = true
      this.#tell(`change the description of ${text} to '${description}'`)
    } else if (change === 'copy') {
      const description = cloud.find(id)?.description ?? ''
      cloud.byHand.create({ network: record.network, description })
      const [copy] = project.note(undefined).created
      if (copy !== undefined) copy.isEdited = true
      record.isEdited = true
      this.#tell(`create ${copy?.text} with the description of ${text}: '${description}'`)
    } else {
      cloud.byHand.delete(id)
      project.note(undefined)
      this.#tell(`delete ${text}`)
    }
  }

  #create(address: string): void {
    const { project } = this.#world
    project.cloud.byHand.create({ network: project.networks[0] ?? '', address })
    project.note(undefined)
    this.#tell(`create ${address}`)
  }

  #detach(record: AddressRecord): void {
    const { cloud } = this.#world.project
    cloud.byHand.detach(record.id)
    record.touchedMs = cloud.nowMs
    this.#tell(`detach ${record.text}`)
  }

  async #fillQuota(dice: Dice): Promise<void> {
    const { cloud } = this.#world.project
    cloud.quota = cloud.floatingIPs.length
    this.#tell('the quota is used up')
    await this.#world.clock.wait(dice.pick([20_000, 60_000]))
    cloud.quota = Number.POSITIVE_INFINITY
    this.#tell('the quota is raised')
  }

  #tell(text: string): void {
    this.#world.trace.step('operator', text)
  }
}
