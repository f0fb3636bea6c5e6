import { Address, Prefix } from '../../cidr/index.js'
import type { Json } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import { MAX_CALL_SECONDS } from '../../provider/external/cloud.js'
import { markerIn } from '../../provider/openstack/neutron/description.js'
import { FloatingIPJournal, MAX_LAG_MS } from './journal.js'
import type { FakeAct, FakeFloatingIP, FakeNetwork, FakePort, FakeRouter } from './objects.js'
import { type CloudTrouble, type CloudTroubleKind, FakeCloudError, type FakeOperation, refusalOf } from './troubles.js'

/** Where time, delay and limits of a fake cloud come from. */
export interface FakeCloudWorldOptions {
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Is awaited before each call is done. Default: no delay. */
  readonly latency?: ((operation: FakeOperation) => Promise<void>) | undefined
  /** How many floating IPs a project may have. Default: no limit. */
  readonly quota?: number | undefined
}

/** What a floating IP is created with. */
export interface NewFloatingIP {
  readonly network: string
  readonly project: string
  readonly description?: string | undefined
  readonly tags?: readonly string[] | undefined
  /** `null`: any that is free. */
  readonly address?: string | null | undefined
  readonly port?: string | undefined
}

/**
 * The objects of a fake cloud, what goes wrong with its calls, and how many calls of each kind
 * there were.
 *
 * There are two ways in: `perform` carries out the calls of an API, with delay and troubles;
 * `byHand` is an operator, for whom nothing goes wrong.
 */
export class FakeCloudWorld {
  /** How old lists are, in milliseconds, 0 to 60,000. */
  #listLagMs = 0
  quota: number
  readonly #options: FakeCloudWorldOptions
  readonly #floatingIPs = new FloatingIPJournal()
  readonly #networks = new Map<string, FakeNetwork>()
  readonly #ports = new Map<string, FakePort>()
  readonly #routers = new Map<string, FakeRouter>()
  readonly #troubles = new Map<FakeOperation, CloudTrouble[]>()
  readonly #calls = new Map<FakeOperation, number>()
  readonly #created: FakeAct[] = []
  readonly #deleted: FakeAct[] = []
  /** Calls that are done later than they were answered. */
  #late: { readonly atMs: number; readonly action: () => unknown }[] = []
  /** By network: how many of its addresses the search has passed by. */
  readonly #cursors = new Map<string, bigint>()
  #lastId = 0
  #newestAddress = ''

  constructor(options: FakeCloudWorldOptions) {
    check('FakeCloudWorld', 'options', options, ['open', { now: 'function' }])

    this.#options = options
    this.quota = options.quota ?? Number.POSITIVE_INFINITY
  }

  /** What an operator does. Nothing of it fails, has delay, or counts as a call. */
  readonly byHand = {
    /** @returns the id */
    create: (wanted: Omit<NewFloatingIP, 'project'> & { readonly project?: string }): string => {
      this.#settle()
      return this.#add({ project: 'project', ...wanted }, undefined, 'hand').id
    },
    delete: (id: string): void => {
      this.#settle()
      this.#remove(id, 'hand')
    },
    attach: (id: string, port: string): void => void this.update(id, { port }),
    detach: (id: string): void => void this.update(id, { port: '' }),
    tag: (id: string, ...tags: readonly string[]): void => this.tag(id, tags),
    untag: (id: string, tag: string): void => {
      this.update(id, { tags: this.show(id).tags.filter((it) => it !== tag) })
    },
    describe: (id: string, description: string): void => void this.update(id, { description }),
  }

  /** All floating IPs, those of other projects included, in the order of their creation. */
  get floatingIPs(): readonly FakeFloatingIP[] {
    this.#settle()
    return this.#floatingIPs.all()
  }

  /** The time, in milliseconds since 1970. */
  get nowMs(): number {
    return this.#options.now()
  }

  get networks(): readonly FakeNetwork[] {
    return [...this.#networks.values()]
  }

  get ports(): readonly FakePort[] {
    return [...this.#ports.values()]
  }

  get routers(): readonly FakeRouter[] {
    return [...this.#routers.values()]
  }

  /** Every call that was made, those that did not arrive included. */
  get calls(): ReadonlyMap<FakeOperation, number> {
    return this.#calls
  }

  get created(): readonly FakeAct[] {
    this.#settle()
    return this.#created
  }

  get deleted(): readonly FakeAct[] {
    this.#settle()
    return this.#deleted
  }

  /**
   * What calls have deleted although no call had created it: always empty, if what makes the calls
   * is right.
   */
  get foreignDeletions(): readonly FakeAct[] {
    const ours = new Set(this.created.filter(({ by }) => by === 'call').map(({ id }) => id))
    return this.deleted.filter(({ id, by }) => by === 'call' && !ours.has(id))
  }

  get listLagMs(): number {
    return this.#listLagMs
  }

  /** @throws IpamError `INVALID_ARGUMENT` for a lag below 0 or above 60 s */
  set listLagMs(lag: number) {
    if (!(lag >= 0 && lag <= MAX_LAG_MS)) refuse('FakeCloudWorld', 'listLagMs', `0 to ${MAX_LAG_MS}`, lag)
    this.#listLagMs = lag
  }

  /**
   * The next calls of an operation go wrong in this way, one each.
   *
   * @throws IpamError `INVALID_ARGUMENT` for a call that would be done later than 60 s after it was
   * sent
   */
  inject(operation: FakeOperation, ...troubles: readonly (CloudTrouble | CloudTroubleKind)[]): void {
    const queue = this.#troubles.get(operation) ?? []
    this.#troubles.set(operation, queue)
    for (const given of troubles) {
      const trouble: CloudTrouble = typeof given === 'string' ? { kind: given } : given
      const { kind, seconds = 0 } = trouble
      if (!(seconds >= 0) || (kind === 'late' && seconds > MAX_CALL_SECONDS)) {
        refuse('FakeCloudWorld', 'trouble.seconds', `0 to ${MAX_CALL_SECONDS}`, seconds)
      }
      queue.push(trouble)
    }
  }

  /** Nothing goes wrong any more. What was to be done later still is. */
  recover(): void {
    this.#troubles.clear()
  }

  addNetwork(network: Pick<FakeNetwork, 'name' | 'cidrs'> & Partial<Omit<FakeNetwork, 'name' | 'cidrs'>>): FakeNetwork {
    const whole = { id: this.#newId(), isExternal: true, description: '', project: 'admin', tags: [], ...network }
    for (const cidr of whole.cidrs) Prefix.parse(cidr)
    this.#networks.set(whole.id, whole)
    return whole
  }

  removeNetwork(id: string): void {
    this.#networks.delete(id)
  }

  addPort(port: Pick<FakePort, 'device' | 'network' | 'fixedIPs'> & Partial<FakePort>): FakePort {
    const whole = { id: this.#newId(), deviceOwner: 'compute:nova', ...port }
    this.#ports.set(whole.id, whole)
    return whole
  }

  /** Deletes a port, and detaches what is attached to it. */
  removePort(id: string): void {
    this.#ports.delete(id)
    for (const { id: attached, port } of this.floatingIPs) if (port === id) this.update(attached, { port: '' })
  }

  addRouter(router: Pick<FakeRouter, 'subnets'> & Partial<FakeRouter>): FakeRouter {
    const whole = { id: this.#newId(), gatewayNetwork: '', ...router }
    this.#routers.set(whole.id, whole)
    return whole
  }

  /** The id of a subnet of a network: its CIDRs are subnets in their order. */
  subnetId(network: string, index: number): string {
    return `${network}-subnet-${index}`
  }

  /** The network that a subnet is of. */
  networkOf(subnet: string): string {
    return subnet.replace(/-subnet-\d+$/u, '')
  }

  /** The routers that have an interface in one of these networks. */
  routersIn(networks: readonly string[]): readonly FakeRouter[] {
    return this.routers.filter(({ subnets }) => subnets.some((subnet) => networks.includes(this.networkOf(subnet))))
  }

  /**
   * Carries a call out, with the delay and the trouble that it is to have.
   *
   * @throws FakeCloudError if it is refused, or if its answer does not arrive
   */
  async perform<T>(operation: FakeOperation, action: (trouble: CloudTrouble | undefined) => T): Promise<T> {
    this.#calls.set(operation, (this.#calls.get(operation) ?? 0) + 1)
    const trouble = this.#troubles.get(operation)?.shift()
    const sentAtMs = this.nowMs
    await this.#options.latency?.(operation)
    this.#settle()
    const refusal = trouble && refusalOf(trouble)
    if (refusal !== undefined) throw refusal
    if (trouble?.kind === 'late') {
      this.#late.push({ atMs: sentAtMs + (trouble.seconds ?? 30) * 1000, action: () => action(undefined) })
      this.#late.sort((a, b) => a.atMs - b.atMs)
      throw new FakeCloudError('noAnswer', 'no answer in time')
    }
    const answer = action(trouble)
    if (trouble?.kind === 'lostAnswer') throw new FakeCloudError('noAnswer', 'no answer in time')
    return answer
  }

  /**
   * The networks that `spec.floatingIPNetwork` of a pool can be about; `null`: all external ones.
   */
  networksMatching(network: Json): readonly FakeNetwork[] {
    const { id, filter } = (network ?? {}) as { readonly id?: string; readonly filter?: NetworkFilter }
    return this.networks.filter((it) => it.isExternal && (id === undefined || it.id === id) && matches(it, filter))
  }

  /**
   * The floating IPs of a project, or of all, as lists show them, by id: those of `listLagMs` ago.
   */
  listed({ project, network }: { readonly project?: string; readonly network?: string }): readonly FakeFloatingIP[] {
    this.#settle()
    const all = this.#listLagMs === 0 ? this.#floatingIPs.all() : this.#floatingIPs.asOf(this.nowMs - this.#listLagMs)
    return all.filter(
      (it) => (project === undefined || it.project === project) && (network === undefined || it.network === network),
    )
  }

  /** A floating IP as it is now. */
  find(id: string): FakeFloatingIP | undefined {
    this.#settle()
    return this.#floatingIPs.get(id)
  }

  /** As {@link find}. @throws FakeCloudError `notFound` */
  show(id: string): FakeFloatingIP {
    const found = this.find(id)
    if (found === undefined) throw new FakeCloudError('notFound', `floating IP ${id} could not be found`)
    return found
  }

  /** Whether an address is in a subnet of its network. */
  isInside({ network, address }: FakeFloatingIP): boolean {
    const parsed = Address.parse(address)
    return this.#networks.get(network)?.cidrs.some((cidr) => Prefix.contains(Prefix.parse(cidr), parsed)) ?? false
  }

  /** Creates a floating IP for a call. @throws FakeCloudError */
  create(wanted: NewFloatingIP, trouble: CloudTrouble | undefined): FakeFloatingIP {
    return this.#add(wanted, trouble, 'call')
  }

  /** Deletes a floating IP for a call; one that is not there is deleted. */
  delete(id: string): void {
    this.#remove(id, 'call')
  }

  /**
   * Changes a floating IP, if it has this revision. @throws FakeCloudError `notFound`, `revision`,
   * or `inUse` for a port that has another one
   */
  update(
    id: string,
    change: Partial<Pick<FakeFloatingIP, 'description' | 'port' | 'tags'>>,
    revision: number | null = null,
  ): FakeFloatingIP {
    const before = this.show(id)
    if (revision !== null && revision !== before.revision) {
      throw new FakeCloudError('revision', `Constrained to ${revision}, but current revision is ${before.revision}`)
    }
    if (change.port !== undefined && change.port !== '') this.#checkPort(id, change.port)
    const next = { ...before, ...change, revision: before.revision + 1 }
    this.#floatingIPs.set(id, next, this.nowMs)
    return next
  }

  /**
   * Checks a fixed address for a floating IP: a port with several needs one of them. @throws
   * FakeCloudError `invalid`
   */
  checkFixed(port: string, fixed: string): void {
    const { fixedIPs = [] } = this.#ports.get(port) ?? {}
    const isOne = fixedIPs.some(({ address }) => address === fixed)
    if (fixed === '' ? fixedIPs.length < 2 : isOne) return
    const problem = fixed === '' ? 'has several fixed addresses, and none was named' : `does not have ${fixed}`
    throw new FakeCloudError('invalid', `port ${port} ${problem}`)
  }

  /** Adds tags to those that a floating IP has. */
  tag(id: string, tags: readonly string[]): void {
    const before = this.show(id).tags
    const added = tags.filter((tag) => !before.includes(tag))
    if (added.length > 0) this.update(id, { tags: [...before, ...added] })
  }

  #checkPort(id: string, port: string): void {
    if (!this.#ports.has(port)) throw new FakeCloudError('notFound', `port ${port} could not be found`)
    const other = this.#floatingIPs.all().find((it) => it.port === port && it.id !== id)
    if (other !== undefined) throw new FakeCloudError('inUse', `port ${port} already has floating IP ${other.address}`)
  }

  #add(wanted: NewFloatingIP, trouble: CloudTrouble | undefined, by: FakeAct['by']): FakeFloatingIP {
    const network = this.#networks.get(wanted.network)
    if (network === undefined) {
      throw new FakeCloudError('networkNotFound', `network ${wanted.network} could not be found`)
    }
    if (!network.isExternal) throw new FakeCloudError('invalid', `network ${network.name} is not external`)
    if (by === 'call') this.#checkQuota(wanted.project)
    const nowMs = this.nowMs
    const floatingIP: FakeFloatingIP = {
      id: this.#newId(),
      address: this.#addressFor(network, wanted.address ?? null, trouble),
      network: network.id,
      project: wanted.project,
      description: trouble?.kind === 'noMarker' ? '' : (wanted.description ?? ''),
      tags: wanted.tags ?? [],
      port: wanted.port ?? '',
      revision: 1,
      createdAtMs: nowMs,
    }
    this.#floatingIPs.set(floatingIP.id, floatingIP, nowMs)
    this.#newestAddress = floatingIP.address
    this.#created.push(actOf(floatingIP, by, nowMs))
    return floatingIP
  }

  #remove(id: string, by: FakeAct['by']): void {
    const floatingIP = this.#floatingIPs.get(id)
    if (floatingIP === undefined) return
    const nowMs = this.nowMs
    this.#floatingIPs.set(id, undefined, nowMs)
    this.#deleted.push(actOf(floatingIP, by, nowMs))
  }

  #checkQuota(project: string): void {
    if (this.#floatingIPs.countOf(project) < this.quota) return
    throw new FakeCloudError('quota', "Quota exceeded for resources: ['floatingip']")
  }

  #addressFor(network: FakeNetwork, wanted: string | null, trouble: CloudTrouble | undefined): string {
    if (trouble?.kind === 'sameAddress' && this.#newestAddress !== '') return this.#newestAddress
    // of documentation: no network of a test should have it
    if (trouble?.kind === 'otherNetwork') return '192.0.2.255'
    if (wanted === null) return this.#nextFree(network)
    const address = Address.safeParse(wanted)
    if (!address.ok || !network.cidrs.some((cidr) => Prefix.contains(Prefix.parse(cidr), address.value))) {
      throw new FakeCloudError('invalid', `${wanted} is not an address of network ${network.name}`)
    }
    const text = Address.format(address.value)
    if (this.#floatingIPs.hasAddress(text)) throw new FakeCloudError('inUse', `${text} is in use`)
    return text
  }

  /**
   * The next address of a network behind the one that was given last: round and round, without the
   * first two and the last of each subnet.
   */
  #nextFree({ id, name, cidrs }: FakeNetwork): string {
    const spans = cidrs.map((cidr) => {
      const prefix = Prefix.parse(cidr)
      return { first: Address.add(Prefix.first(prefix), 2n), size: max0(Prefix.size(prefix) - 3n) }
    })
    const total = spans.reduce((sum, { size }) => sum + size, 0n)
    let offset = this.#cursors.get(id) ?? 0n
    for (let tried = 0n; tried < total; tried++, offset++) {
      const address = addressAt(spans, offset % total)
      if (this.#floatingIPs.hasAddress(address)) continue
      this.#cursors.set(id, (offset + 1n) % total)
      return address
    }
    throw new FakeCloudError('networkFull', `Unable to find any IP address on external network ${name}`)
  }

  /** Does what is due by now of the calls that are done later than they were answered. */
  #settle(): void {
    const nowMs = this.nowMs
    while (this.#late.length > 0 && this.#late[0]!.atMs <= nowMs) {
      const { action } = this.#late.shift()!
      try {
        action()
      } catch (error) {
        // a call can be refused whose answer nothing waits for any more
        if (!(error instanceof FakeCloudError)) throw error
      }
    }
  }

  /** In the form of a UUID, and rising. */
  #newId(): string {
    this.#lastId++
    return `00000000-0000-4000-8000-${this.#lastId.toString(16).padStart(12, '0')}`
  }
}

interface NetworkFilter {
  readonly name?: string
  readonly description?: string
  readonly projectID?: string
  readonly tags?: readonly string[]
  readonly tagsAny?: readonly string[]
  readonly notTags?: readonly string[]
  readonly notTagsAny?: readonly string[]
}

function matches(network: FakeNetwork, filter: NetworkFilter = {}): boolean {
  const { name, description, projectID, tags, tagsAny, notTags, notTagsAny } = filter
  const has = (tag: string) => network.tags.includes(tag)
  return (
    (name === undefined || name === network.name) &&
    (description === undefined || description === network.description) &&
    (projectID === undefined || projectID === network.project) &&
    (tags === undefined || tags.every(has)) &&
    (tagsAny === undefined || tagsAny.some(has)) &&
    (notTags === undefined || !notTags.every(has)) &&
    (notTagsAny === undefined || !notTagsAny.some(has))
  )
}

function addressAt(spans: readonly { readonly first: Address; readonly size: bigint }[], offset: bigint): string {
  for (const { first, size } of spans) {
    if (offset < size) return Address.format(Address.add(first, offset))
    offset -= size
  }
  return refuse('FakeCloudWorld', 'offset', 'inside of the network', offset)
}

function max0(size: bigint): bigint {
  return size > 0n ? size : 0n
}

function actOf({ id, address, description }: FakeFloatingIP, by: FakeAct['by'], atMs: number): FakeAct {
  return { id, address, marker: markerIn(description), by, atMs }
}
