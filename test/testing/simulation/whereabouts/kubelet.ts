import type { Store } from 'ipam-kit/store'
import type { Dice } from 'ipam-kit/testing'
import type { Scheduler } from '../../../../src/testing/simulation/scheduler.js'
import { type Attachment, type Flavor, newSandbox, type Sandbox, type SimulatedPod } from './attachments.js'
import { podRef } from './kinds.js'
import { writeStatus } from './network-status.js'
import type { Network } from './networks.js'

/** What a plugin has answered, as its caller sees it. */
export type Answer =
  | { readonly kind: 'addresses'; readonly addresses: readonly string[]; readonly lengths?: readonly number[] }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'crashed' }

/** A call of the plugin. */
export interface Call {
  readonly verb: 'ADD' | 'DEL' | 'CHECK' | 'GC'
  /** For GC: one of the network. */
  readonly attachment: Attachment
  /** The plugin that is on the node now. */
  readonly program: Flavor
  /** Whether the kubelet stops waiting before the plugin has ended. */
  readonly isAbandoned: boolean
  /** For GC: all interfaces of the network on the node that are not to be freed. */
  readonly valid?: readonly Attachment[]
  /** For GC: what the node has added, if it keeps a record. */
  readonly record?: readonly AddedRecord[] | undefined
}

/** An ADD, as the plugin records it on its node. */
export interface AddedRecord {
  readonly containerId: string
  readonly ifname: string
  readonly network: string
  readonly addedMs: number
  readonly hasClaim: boolean
}

export interface KubeletWorld {
  readonly scheduler: Scheduler
  readonly dice: Dice
  /** Without faults. */
  readonly store: Store
  readonly now: () => number
  readonly isRough: () => boolean
  /** Whether the people delete all, and no controller is to be helped by a DEL. */
  readonly sendsDels: () => boolean
  readonly call: (call: Call, worker: string) => Promise<Answer>
  /** Told of each sandbox that is made. */
  readonly made: (sandbox: Sandbox) => void
  readonly wrote: () => Promise<void>
}

/** Attempts to set a Pod up when nothing goes wrong any more. */
const MAX_CALM_FAILURES = 6
const DEL_DELAYS_MS = [0, 0, 0, 1000, 10_000, 60_000]

/**
 * The kubelet and the runtime of a node: it makes sandboxes, and calls the plugin for each
 * interface.
 */
export class Kubelet {
  readonly name: string
  /** The plugin that is on the node. */
  flavor: Flavor
  readonly pods: SimulatedPod[] = []
  /** The attachments that may still need a call, or have one under way. */
  readonly attachments = new Set<Attachment>()
  readonly #world: KubeletWorld
  readonly #workers: number
  readonly #jobs: Call[] = []
  #busy = 0
  /** The network of which a GC is to free what is left. */
  #garbageOf: Network | undefined
  #isCollecting = false
  /** What it has added; nothing if its plugin keeps no record. */
  readonly #record: AddedRecord[] = []
  readonly #keepsRecord: boolean

  constructor(
    name: string,
    { flavor, workers }: { readonly flavor: Flavor; readonly workers: number },
    world: KubeletWorld,
  ) {
    this.name = name
    this.flavor = flavor
    this.#workers = workers
    this.#world = world
    this.#keepsRecord = world.dice.chance(0.5)
  }

  /** Runs until the simulation ends. */
  async live(): Promise<void> {
    const { scheduler, dice } = this.#world
    for (;;) {
      await scheduler.turn(this.name, 'works', () => this.#steps().length > 0)
      const steps = this.#steps()
      if (steps.length > 0) await dice.pick(steps)()
    }
  }

  /** One of several processes of the plugin. Runs until the simulation ends. */
  async work(worker: string): Promise<void> {
    for (;;) {
      await this.#world.scheduler.turn(worker, 'takes a call', () => this.#jobs.length > 0)
      const call = this.#jobs.shift() as Call
      const answer = await this.#world.call(call, worker)
      this.#busy--
      this.#ended(call, answer)
    }
  }

  /** Whether something is under way. */
  get isBusy(): boolean {
    return this.#busy > 0
  }

  /** When it has something to do next. */
  get dueMs(): number {
    const dels = [...this.attachments].filter((each) => this.#wantsDel(each)).map((each) => each.delDueMs)
    const starts = this.pods
      .filter((pod) => this.#wantsSandbox(pod) || nextOf(pod) !== undefined)
      .map((pod) => pod.notBeforeMs)
    const statuses = this.pods.flatMap(({ statusDueMs = [] }) => statusDueMs)
    return Math.min(...dels, ...starts, ...statuses)
  }

  /**
   * Whether minutes may pass now: not if a controller would read the status of an earlier sandbox
   * for that long.
   */
  get mayWait(): boolean {
    return this.pods.every((pod) => {
      const isChanging = pod.sandbox === undefined || pod.statusDueMs !== undefined || !isUp(pod.sandbox)
      return pod.count < 2 || pod.tells === 'never' || pod.tells === 'no JSON' || !isChanging
    })
  }

  /** Lets the runtime free what it does not know, before it makes other sandboxes. */
  collect(network: Network): void {
    if (this.flavor === 'ours') this.#garbageOf = network
  }

  /** Stops the containers of a Pod, which leaves DELs to be sent. */
  stop(pod: SimulatedPod): void {
    const { sandbox } = pod
    pod.sandbox = undefined
    pod.statusDueMs = undefined
    pod.hasStatus = false
    if (sandbox === undefined) return
    const { dice, now, isRough, sendsDels } = this.#world
    sandbox.isDead = true
    for (const attachment of sandbox.attachments) {
      if (attachment.state === 'new') continue
      attachment.dels = isRough() ? dice.pick([0, 1, 1, 1, 2]) : sendsDels() ? 1 : 0
      attachment.delDueMs = now() + dice.pick(DEL_DELAYS_MS)
      this.attachments.add(attachment)
    }
  }

  #steps(): readonly (() => Promise<void> | void)[] {
    const nowMs = this.#world.now()
    const hasWorker = this.#busy < this.#workers
    const steps: (() => Promise<void> | void)[] = []
    if (this.#isCollecting) return steps
    const isAdding = [...this.attachments].some(({ adds }) => adds > 0)
    if (this.#garbageOf !== undefined && !isAdding && hasWorker) steps.push(() => this.#collect())
    for (const pod of this.pods) {
      const { sandbox } = pod
      if (pod.wanted !== 'running') steps.push(() => this.#end(pod))
      else if (this.#wantsSandbox(pod) && pod.notBeforeMs <= nowMs) steps.push(() => this.#begin(pod))
      else if (sandbox !== undefined) {
        const next = nextOf(pod)
        if (next !== undefined && pod.notBeforeMs <= nowMs && hasWorker) steps.push(() => this.#add(next))
        const checked = sandbox.attachments.find(({ state, wantsCheck }) => state === 'live' && wantsCheck)
        if (checked !== undefined && hasWorker) steps.push(() => this.#checkOne(checked))
        if (pod.statusDueMs !== undefined && pod.statusDueMs <= nowMs) steps.push(() => this.#tell(pod))
      }
    }
    for (const attachment of this.attachments) {
      if (this.#wantsDel(attachment) && attachment.delDueMs <= nowMs && hasWorker)
        steps.push(() => this.#del(attachment))
    }
    return steps
  }

  #wantsSandbox(pod: SimulatedPod): boolean {
    const isTried = !this.#world.isRough() && pod.failures >= MAX_CALM_FAILURES
    return pod.wanted === 'running' && pod.sandbox === undefined && !isTried
  }

  #wantsDel({ dels, isDeleting }: Attachment): boolean {
    return dels > 0 && !isDeleting
  }

  #begin(pod: SimulatedPod): void {
    pod.count++
    const sandbox = newSandbox(pod, this.flavor, `${pod.name}-${pod.uid.slice(-4)}-${pod.count}`)
    pod.sandbox = sandbox
    this.#world.made(sandbox)
  }

  #add(attachment: Attachment): void {
    attachment.state = 'adding'
    attachment.adds++
    this.attachments.add(attachment)
    const { sandbox, ifname, network } = attachment
    const hasClaim = attachment.claim !== undefined
    this.#record.push({ containerId: sandbox.id, ifname, network: network.name, addedMs: this.#world.now(), hasClaim })
    const isAbandoned = this.#world.isRough() && this.#world.dice.chance(0.08)
    this.#send({ verb: 'ADD', attachment, isAbandoned })
    // what the plugin answers then, nobody reads
    if (isAbandoned) this.#failed(attachment)
  }

  #del(attachment: Attachment): void {
    attachment.isDeleting = true
    if (attachment.adds > 0) attachment.hasLateWrites = true
    attachment.hasDel = true
    this.#send({ verb: 'DEL', attachment, isAbandoned: false })
  }

  #checkOne(attachment: Attachment): void {
    attachment.wantsCheck = false
    this.#send({ verb: 'CHECK', attachment, isAbandoned: false })
  }

  #collect(): void {
    const network = this.#garbageOf
    this.#garbageOf = undefined
    const all = this.pods.flatMap(({ sandbox }) => sandbox?.attachments ?? [])
    const valid = all.filter((each) => each.network === network)
    const [attachment] = [...valid, ...this.attachments].filter((each) => each.network === network)
    if (attachment === undefined) return
    this.#isCollecting = true
    const record = this.#keepsRecord ? [...this.#record] : undefined
    this.#send({ verb: 'GC', attachment, isAbandoned: false, valid, record })
  }

  #send(call: Omit<Call, 'program'>): void {
    this.#busy++
    this.#jobs.push({ ...call, program: this.flavor })
  }

  #ended({ verb, attachment, isAbandoned }: Call, answer: Answer): void {
    const { dice, now, isRough } = this.#world
    if (verb === 'DEL') {
      attachment.isDeleting = false
      const gaveUp = isRough() && dice.chance(0.15)
      if (answer.kind === 'done' || gaveUp) attachment.dels--
      attachment.delDueMs = now() + dice.pick([0, 1000, 20_000])
    } else if (verb === 'ADD') {
      attachment.adds--
      if (!isAbandoned) this.#added(attachment, answer)
    } else if (verb === 'GC') this.#isCollecting = false
    this.#forget(attachment)
  }

  #added(attachment: Attachment, answer: Answer): void {
    const { sandbox } = attachment
    const { pod } = sandbox
    if (answer.kind !== 'addresses' || sandbox.isDead) {
      if (!sandbox.isDead) this.#failed(attachment)
      return
    }
    attachment.state = 'live'
    attachment.wantsCheck = this.flavor === 'ours' && this.#world.dice.chance(0.2)
    if (!isUp(sandbox)) return
    pod.failures = 0
    const delayMs = pod.tells === 'late' ? this.#world.dice.below(4000) : 0
    pod.statusDueMs = this.#world.now() + delayMs
  }

  /** An ADD has failed: it is sent again, or all is made anew. */
  #failed(attachment: Attachment): void {
    const { dice, now, isRough } = this.#world
    const { pod } = attachment.sandbox
    pod.failures++
    pod.notBeforeMs = now() + (isRough() ? dice.below(2000) : Math.min(300_000, 10_000 * 2 ** pod.failures))
    const isClean = attachment.adds === 0 && !attachment.hasLateWrites
    attachment.state = 'failed'
    // the runtime does not keep a sandbox that is not complete for long
    if (!isClean || dice.chance(0.6)) this.stop(pod)
    else pod.notBeforeMs = now() + dice.below(2000)
  }

  /** A Pod that is to end: its containers, their interfaces, its object. */
  async #end(pod: SimulatedPod): Promise<void> {
    const { store } = this.#world
    this.stop(pod)
    this.pods.splice(this.pods.indexOf(pod), 1)
    if (pod.wanted === 'complete')
      await store.patch(podRef(pod.name), { status: { phase: 'Succeeded' } }, { subresource: 'status' })
    else if (pod.wanted === 'gone') {
      await store.patch(podRef(pod.name), { metadata: { finalizers: null } })
      await store.delete(podRef(pod.name))
    }
    await this.#world.wrote()
  }

  async #tell(pod: SimulatedPod): Promise<void> {
    pod.statusDueMs = undefined
    if (pod.sandbox === undefined) return
    pod.hasStatus = pod.tells !== 'never' && pod.tells !== 'no JSON'
    await writeStatus(this.#world.store, pod.sandbox)
    await this.#world.wrote()
  }

  #forget(attachment: Attachment): void {
    const { sandbox, dels, adds, isDeleting } = attachment
    if (sandbox.isDead && dels === 0 && adds === 0 && !isDeleting) this.attachments.delete(attachment)
  }
}

/** The interface of a sandbox that is to be added next, unless an ADD is under way. */
function nextOf({ sandbox }: SimulatedPod): Attachment | undefined {
  const next = sandbox?.attachments.find(({ state }) => state !== 'live')
  return next?.state === 'adding' ? undefined : next
}

function isUp({ attachments }: Sandbox): boolean {
  return attachments.every(({ state }) => state === 'live')
}
