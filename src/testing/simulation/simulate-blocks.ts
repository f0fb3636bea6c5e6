import { Address } from '../../cidr/index.js'
import { IPBlock } from '../../crd/ipam-kit/ip-block.js'
import { IPDomain } from '../../crd/ipam-kit/ip-domain.js'
import { handleName, IPHandle } from '../../crd/ipam-kit/ip-handle.js'
import { IPPool } from '../../crd/ipam-kit/ip-pool.js'
import { check } from '../../errors/check.js'
import { unwrap } from '../../errors/index.js'
import { refuse } from '../../errors/refuse.js'
import type { Change } from '../../plan/index.js'
import { type Allocation, allocate, blocksOperator, release } from '../../provider/blocks/index.js'
import { storeOver } from '../store-over.js'
import { type BlockOwner, BlockOwners } from './block-owners.js'
import { restProblems } from './block-rest.js'
import { BlockRules } from './block-rules.js'
import { type BlockJob, BlockWriter, type BlockWriterWorld } from './block-writer.js'
import { Dice } from './dice.js'
import { ALL_FAULTS, type Fault, faultyStore } from './faulty-store.js'
import { Network } from './network.js'
import { PoolPlan } from './pool-plan.js'
import { PoolVersions } from './pool-versions.js'
import { Scheduler } from './scheduler.js'
import type { SimulationResult } from './simulate.js'
import { Truth } from './truth.js'
import { Writer, type WriterWorld } from './writer.js'

export interface BlocksSimulationOptions {
  /** Decides everything that is left to chance: the same seed, the same run. */
  readonly seed: number
  /** How many processes write, 2 to 16. Default: by the seed. */
  readonly writers?: number | undefined
  /** How often people change their mind about an owner or a pool. Default 16. */
  readonly actions?: number | undefined
  /** Default: all of them. */
  readonly faults?: readonly Fault[] | undefined
  /** How probable a fault is for each call, from 0 to 1. Default 0.1. */
  readonly faultProbability?: number | undefined
  /**
   * Whether patches are done without their conditions. That is wrong, and shows what those are for.
   * Default false.
   */
  readonly dropsConditions?: boolean | undefined
  /** How many turns a simulation may take before it counts as never quiet. Default 100,000. */
  readonly maxTurns?: number | undefined
}

const START_MS = 1_767_225_600_000
const TURN_MS = 5
/** Why an owner may be told that it has no address for now. */
const PASSING: ReadonlySet<string> = new Set(['exhausted', 'notReady', 'denied'])
const NOT_OF_ASKERS: readonly Fault[] = ['crash-before', 'crash-after', 'stale-list']

/**
 * Writers of blocks that do not know of each other, on one store, with faults at every call, in an
 * order that the seed decides; people who want addresses and give them back, and who resize pools.
 * Then, without faults, until everything is quiet.
 *
 * Found: whatever the rules of blocks say after a write; an owner that was told of an address that
 * it does not have, or that has none although there is room; what is left when all is given back;
 * at rest, what its checks at rest say of the status of pools and of empty blocks.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 * @example
 * const { problems } = await simulateBlocks({ seed: 1 })
 * problems // []
 */
export async function simulateBlocks(options: BlocksSimulationOptions): Promise<SimulationResult> {
  check('simulateBlocks', 'options', options, ['open', { seed: 'number' }])

  const { seed, writers = 2, faultProbability = 0.1 } = options
  if (!Number.isSafeInteger(seed)) refuse('simulateBlocks', 'seed', 'a whole number', seed)
  if (!Number.isInteger(writers) || writers < 1 || writers > 16) refuse('simulateBlocks', 'writers', '1 to 16', writers)
  if (!(faultProbability >= 0 && faultProbability <= 1))
    refuse('simulateBlocks', 'faultProbability', 'from 0 to 1', faultProbability)
  return new BlocksSimulation(options).run()
}

class BlocksSimulation {
  readonly #options: BlocksSimulationOptions
  readonly #dice: Dice
  readonly #scheduler: Scheduler
  readonly #network: Network
  readonly #truth: Truth
  readonly #rules: BlockRules
  readonly #problems: string[] = []
  readonly #owners: BlockOwners
  readonly #operators: Writer[] = []
  readonly #versions = new PoolVersions()
  /** The writers that know nothing but what handles say. */
  readonly #withHandles = new Set<string>()
  /** The writers that find what an owner has, whatever has become of them since. */
  readonly #finds = new Set<string>()
  #isRough = true
  #nowMs = START_MS
  #faults = 0

  constructor(options: BlocksSimulationOptions) {
    this.#options = options
    this.#dice = new Dice(options.seed)
    this.#owners = new BlockOwners(this.#dice)
    this.#scheduler = new Scheduler(this.#dice)
    this.#network = new Network(this.#dice, this.#scheduler)
    this.#truth = new Truth([IPBlock.info, IPPool.info, IPHandle.info, IPDomain.info], () => this.#nowMs)
    this.#rules = new BlockRules({
      now: () => this.#nowMs,
      mayLose: (uid, name) => {
        const owner = this.#owners.of(uid).find((each) => each.interface === name)
        return owner === undefined || owner.isReleasing || owner.told.length === 0
      },
      isReturning: (uid, name) => {
        return this.#owners.of(uid).some((owner) => owner.interface === name && owner.isReturning)
      },
      versionsOf: (pool) => this.#versions.of(pool),
    })
  }

  async run(): Promise<SimulationResult> {
    const { seed, actions = 16, maxTurns = 100_000, writers = this.#dice.pick([2, 2, 3, 4, 5, 16]) } = this.#options
    const plan = new PoolPlan(this.#dice)
    await this.#prepare(plan)
    await this.#check()
    for (let i = 0; i < writers; i++) await this.#startWriter(i, writers)
    const operators = 1 + this.#dice.below(2)
    for (let i = 0; i < operators; i++) await this.#startOperator(`operator ${i + 1}`)
    await this.#scheduler.start(() => this.#network.live())
    await this.#scheduler.start(() => this.#people(plan, actions))
    let turns = 0
    while (this.#problems.length === 0 && ((await this.#scheduler.step()) || this.#skip())) {
      this.#nowMs += TURN_MS
      if (++turns >= maxTurns) this.#problems.push(`still not quiet after ${maxTurns} turns`)
    }
    if (this.#problems.length === 0) await this.#checkRest(plan)
    return { seed, problems: this.#problems, schedule: this.#scheduler.schedule, faults: this.#faults }
  }

  async #prepare(plan: PoolPlan): Promise<void> {
    const { store } = this.#truth
    for (const [name, spec] of plan.pools) {
      const { apiVersion, kind } = IPPool.info
      unwrap(
        await store.create({
          apiVersion,
          kind,
          metadata: { name },
          spec: { ...spec, ipv4: plan.grid4, ipv6: plan.grid6 },
        }),
      )
    }
  }

  async #startWriter(index: number, writers: number): Promise<void> {
    const { faults = [...ALL_FAULTS, 'refused'], faultProbability = 0.1, dropsConditions = false } = this.#options
    const name = `writer ${index + 1}`
    const knows = this.#dice.chance(0.6) ? 'all' : this.#dice.pick(['asked', 'asked', 'remembered'] as const)
    const hasHandles = knows !== 'all' && this.#dice.chance(0.6)
    if (hasHandles) this.#withHandles.add(name)
    if (hasHandles || knows === 'all') this.#finds.add(name)
    // a writer that dies and only knows its own reads does not find its former rows, and reads the
    // present state
    const isLost = knows !== 'all' && !hasHandles
    const impossible = isLost ? NOT_OF_ASKERS : knows === 'all' ? [] : ['stale-list']
    const kinds = faults.filter((fault) => !impossible.includes(fault))
    const world: BlockWriterWorld = {
      truth: this.#truth,
      scheduler: this.#scheduler,
      dice: this.#dice,
      now: () => this.#nowMs,
      isRough: () => this.#isRough && !isLost,
      ends: async (writer) => {
        // what was sent for a version that a successor has seen does no harm, whenever it comes;
        // what is made needs no version
        await this.#network.ends(writer, hasHandles ? 'create' : '')
        for (const owner of this.#owners.all) if (owner.node === name) owner.isBusy = false
      },
      failed: (problem) => void this.#problems.push(problem),
    }
    const store = faultyStore(
      this.#truth,
      name,
      { scheduler: this.#scheduler, network: this.#network },
      {
        dice: this.#dice,
        faults: () => ({ kinds: this.#isRough ? kinds : [], probability: faultProbability }),
        settlesByReading: false,
        seen: () => writer.seen,
        isDead: () => writer.isDead,
        happened: () => void this.#faults++,
        written: (isHeldBack: boolean) => this.#check(isHeldBack),
      },
    )
    const workers = this.#dice.pick([1, 1, 2, 4])
    const careless = storeOver(store, {
      patch: (ref, patch, options) => store.patch(ref, patch, { subresource: options?.subresource }),
    })
    const writer: BlockWriter = new BlockWriter(name, world, {
      store: dropsConditions ? careless : store,
      knows,
      beginsAnew: knows !== 'asked' || hasHandles,
      usesLocks: workers > 1 && this.#dice.chance(0.5),
      workers,
      next: () => this.#jobFor(name),
    })
    await this.#scheduler.start(() => writer.live())
    for (let n = 1; n <= workers; n++) await this.#scheduler.start(() => writer.work(`${name}.${n}`))
    const count = Math.ceil((4 + this.#dice.below(12)) / writers)
    for (let n = 0; n < count; n++) this.#owners.add(name, n)
  }

  async #startOperator(name: string): Promise<void> {
    const { faults = ALL_FAULTS, faultProbability = 0.1 } = this.#options
    const world: WriterWorld = {
      truth: this.#truth,
      scheduler: this.#scheduler,
      dice: this.#dice,
      now: () => this.#nowMs,
      mayWrite: () => true,
      begins: () => {},
      ends: (writer) => this.#network.ends(writer.name),
      resigned: () => {},
      isRough: () => this.#isRough,
      canWrite: () => true,
      concurrency: 1,
      showsOwnWrites: true,
      failed: (problem) => void this.#problems.push(problem),
    }
    const source = {
      dice: this.#dice,
      faults: () => ({ kinds: this.#isRough ? faults : [], probability: faultProbability }),
      settlesByReading: false,
      seen: () => operator.seen,
      isDead: () => operator.isDead,
      happened: () => void this.#faults++,
      written: (isHeldBack: boolean) => this.#check(isHeldBack),
    }
    const store = faultyStore(this.#truth, name, { scheduler: this.#scheduler, network: this.#network }, source)
    const planner = blocksOperator({ emptySeconds: this.#dice.pick([0, 0, 1]) })
    const operator: Writer = new Writer(name, world, { store, planner, external: undefined })
    this.#operators.push(operator)
    await this.#scheduler.start(() => operator.live())
  }

  /** Something to do for one of the owners of a writer. */
  #jobFor(node: string): BlockJob | undefined {
    const owners = this.#owners.ofNode(node)
    // asked in each turn, and most of the time there is nothing to do
    if (!owners.some((owner) => !owner.isBusy && this.#hasWork(owner))) return undefined
    const candidates = owners.filter((owner) => !owner.isBusy && this.#hasWork(owner))
    const owner = this.#dice.pick(candidates)
    owner.isBusy = true
    return owner.wants ? this.#allocation(owner) : this.#release(owner)
  }

  #hasWork(owner: BlockOwner): boolean {
    if (!owner.wants) return owner.mayHave
    if (owner.told.length > 0) return owner.isAgain
    const { refused } = owner
    return refused === undefined || refused.length !== this.#truth.log.length || refused.atMs + 60_000 <= this.#nowMs
  }

  #allocation(owner: BlockOwner): BlockJob {
    const { identity, name, interface: interfaceName, mac, pools, families, count, node } = owner
    const before = owner.told
    if (owner.isAgain) owner.container++
    owner.isAgain = false
    owner.mayHave = true
    const length = this.#truth.log.length
    const request = {
      owner: { uid: identity.uid, name },
      interface: interfaceName,
      container: owner.hasContainer ? `c${owner.container}` : undefined,
      mac,
      count,
      pools,
      families,
      node: { name: node.replace(' ', '-') },
      handle: this.#withHandles.has(node),
    }
    return {
      label: `gives to ${name} ${interfaceName}`,
      task: (known) => allocate(request, known),
      done: (outcome) => {
        owner.isBusy = false
        this.#scheduler.note(node, `  ${name}: ${outcome.kind}`)
        if (!('allocations' in outcome)) {
          owner.refused = { length, atMs: this.#nowMs }
          const isUnexpected = before.length > 0 || !PASSING.has(outcome.kind)
          if (isUnexpected) this.#problems.push(`${name} was told ${outcome.kind}`)
          return
        }
        owner.refused = undefined
        owner.told = outcome.allocations as readonly Allocation[]
        if (before.length > 0 && textOf(owner.told) !== textOf(before)) {
          this.#problems.push(`${name} was told of ${textOf(owner.told)}, and of ${textOf(before)} before`)
        }
        this.#checkTold(owner)
      },
    }
  }

  #release(owner: BlockOwner): BlockJob {
    const { identity, name, interface: interfaceName, node, pools } = owner
    const { uid } = identity
    owner.isReleasing = true
    owner.container++
    owner.isReturning = owner.told.length > 0
    owner.isAgain = false
    owner.told = []
    const where = this.#withHandles.has(node) ? { handle: true } : { pools }
    return {
      label: `takes from ${name} ${interfaceName}`,
      task: (known) => release({ owner: { uid }, interface: interfaceName, ...where }, known),
      done: (outcome) => {
        owner.isBusy = false
        owner.isReleasing = false
        owner.isReturning = false
        owner.mayHave = false
        this.#scheduler.note(node, `  ${name}: ${outcome.kind}`)
        const left = this.#rules.addressesOf(uid, interfaceName)
        if (left.length > 0) this.#problems.push(`${name} has given all back, and has ${left.join(', ')}`)
        this.#owners.gone(owner)
      },
    }
  }

  /** What an owner is told of is what is stored for it, and no more. */
  #checkTold(owner: BlockOwner): void {
    // what an attempt has left that died, or had no room for all, goes when it is given back
    if (owner.told.length === 0 && owner.mayHave) return
    const told = textOf(owner.told)
    const stored = this.#rules.addressesOf(owner.identity.uid, owner.interface).join(', ')
    if (told !== stored) this.#problems.push(`${owner.name} was told of ${told} and has ${stored}`)
  }

  /**
   * People do what they do; when they have done it, nothing goes wrong any more, and at last
   * everybody gives back.
   */
  async #people(plan: PoolPlan, actions: number): Promise<void> {
    for (let i = 0; i < actions; i++) {
      await this.#scheduler.turn('people', `act ${i + 1}`)
      if (this.#dice.chance(0.15)) await this.#resize(plan)
      else if (this.#dice.chance(0.05)) await this.#deleteBlock()
      else this.#changeMind(this.#dice.pick(this.#owners.all))
      for (let pause = this.#dice.below(12); pause > 0; pause--) await this.#scheduler.turn('people', 'wait')
    }
    this.#isRough = false
    if (this.#dice.chance(0.5)) for (const owner of this.#owners.all) owner.wants = false
  }

  /** An owner comes or goes, or its container is made anew. */
  #changeMind(owner: BlockOwner): void {
    if (owner.isBusy) return
    const isRestart = owner.told.length > 0 && this.#finds.has(owner.node) && this.#dice.chance(0.3)
    if (isRestart && owner.wants) owner.isAgain = true
    else owner.wants = !owner.wants
  }

  async #resize(plan: PoolPlan): Promise<void> {
    const name = this.#dice.pick([...plan.pools.keys()])
    const { apiVersion, kind } = IPPool.info
    await this.#truth.store.patch({ apiVersion, kind, name }, { spec: { subnets: plan.resized(name) } })
    await this.#check()
  }

  async #deleteBlock(): Promise<void> {
    if (this.#rules.blocks.length === 0) return
    const { apiVersion, kind, metadata } = this.#dice.pick(this.#rules.blocks).block
    unwrap(await this.#truth.store.delete({ apiVersion, kind, name: metadata.name }))
    await this.#check()
  }

  async #check(isHeldBack = false): Promise<void> {
    for (const { change } of await this.#truth.catchUp()) {
      if (change.kind === 'present' && IPPool.is(change.object)) this.#versions.add(change.object)
      const problem = this.#rules.observe(change, { isHeldBack })
      if (problem !== undefined) this.#problems.push(problem)
      if (this.#withHandles.size > 0) this.#checkHandles(change)
    }
  }

  /**
   * A writer that finds its rows by a handle finds all of them: the handle names each block before
   * there is a row in it.
   */
  #checkHandles(change: Change): void {
    if (change.kind === 'present' && IPHandle.is(change.object)) {
      const { spec } = IPHandle.parse(change.object)
      this.#handles.set(change.object.metadata.name, new Set(Object.values(spec.blocks).flat()))
    } else if (change.kind === 'absent' && IPHandle.is(change.ref)) this.#handles.delete(change.ref.name)
    for (const uid of this.#concerned(change)) {
      const [owner] = this.#owners.of(uid)
      if (owner === undefined || !this.#withHandles.has(owner.node)) continue
      const named = this.#handles.get(handleName(uid))
      for (const block of this.#rules.blocksOf(uid)) {
        if (named?.has(block) !== true)
          this.#problems.push(`${owner.name} has a row in ${block}, which its handle does not name`)
      }
    }
  }

  readonly #handles = new Map<string, ReadonlySet<string>>()

  /** The owners of whose rows or handle a change tells. */
  #concerned(change: Change): readonly string[] {
    const { name } = change.kind === 'present' ? change.object.metadata : change.ref
    const ref = change.kind === 'present' ? change.object : change.ref
    if (IPHandle.is(ref)) return [...this.#owners.uids].filter((uid) => handleName(uid) === name)
    return change.kind === 'present' && IPBlock.is(ref) ? this.#rules.ownersIn(name) : []
  }

  /** If no worker can continue, time passes until addresses in cooldown are free. */
  #skip(): boolean {
    const isWaiting = this.#owners.all.some((owner) => owner.wants && owner.told.length === 0)
    const isDue = Number.isFinite(this.#dueMs)
    if (this.#jumps >= (isDue ? 10 : 5) || !(isWaiting || isDue)) return false
    this.#jumps++
    this.#nowMs = Math.max(this.#nowMs + 120_000, isDue ? this.#dueMs : 0)
    return true
  }

  /** When the first of the operators has something to do. */
  get #dueMs(): number {
    return Math.min(...this.#operators.map((operator) => operator.dueMs))
  }

  #jumps = 0

  async #checkRest(plan: PoolPlan): Promise<void> {
    const pools = (await this.#truth.objects(IPPool.info)).map((object) => IPPool.parse(object))
    this.#problems.push(...restProblems({ blocks: this.#rules.blocks, pools, nowMs: this.#nowMs }))
    if (Number.isFinite(this.#dueMs)) this.#problems.push('at rest: an operator has something to do later')
    for (const owner of this.#owners.all) {
      if (owner.isBusy) this.#problems.push(`at rest: ${owner.name} is still busy`)
      this.#checkTold(owner)
      if (!owner.wants || owner.told.length > 0 || owner.count > 1) continue
      const hasRoom = owner.families.every((family) =>
        owner.pools.some((pool) => {
          const version = this.#versions.of(pool).at(-1) as IPPool
          return this.#rules.hasRoom(version, { family, node: plan.nodeOf(owner.node.replace(' ', '-'), family) })
        }),
      )
      if (hasRoom) this.#problems.push(`at rest: ${owner.name} has nothing, and there is room`)
    }
  }
}

function textOf(allocations: readonly Allocation[]): string {
  return allocations
    .map(({ address }) => Address.format(address))
    .sort()
    .join(', ')
}
