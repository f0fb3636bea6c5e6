import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import { Node } from '../../../crd/core/node.js'
import type { Step, Task, TaskTime } from '../../../plan/index.js'
import type { TaskRefusal } from '../../../plan/task.js'
import type { PoolView } from '../../blocks/pool/pool-view.js'
import { allocate } from '../../blocks/tasks/allocate.js'
import { KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import type { AllocationOutcome } from '../../blocks/tasks/outcome.js'
import { release } from '../../blocks/tasks/release.js'
import type { Allocation, Labels } from '../../blocks/tasks/request.js'
import type { AskedAddress } from '../../whereabouts/config/types.js'
import type { AddedAddress, AddOutcome } from '../../whereabouts/tasks/outcome.js'
import { NetworkTask, podRef } from './network-task.js'
import { familiesOf, isOf, type Place, placeProblem, placesOf } from './places.js'
import { assertInterface, type BlockInterfaceRequest, rowTexts } from './request.js'

type Family = 4 | 6

/**
 * The task of a CNI ADD on blocks: gives an interface one address of each range, or of each family
 * of each pool that the configuration names. All of them or none. Run it by `runTask`, and make the
 * answer by `cniOutcome` of `ipam-kit/provider/whereabouts`.
 *
 * - Three requests for one range, if nothing is known: it reads the pool and a block, and writes
 *   the row. One request with a watch
 * - One request more for a pool with a `nodeSelector`, unless the request has the labels of the
 *   Node
 * - The owner of a row is the Pod, by its uid. The same interface of the same Pod gets the same
 *   addresses, also in another container. A late DEL of the former container frees nothing
 * - An address that is asked for has to be one that the pool gives, or keeps for such requests
 *   (`reserved`)
 * - It only reads pools. A pool that gives an address which the configuration does not give is not
 *   used: `poolNotReady`
 *
 * @param known what the process knows of pools and blocks. Default: nothing
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function blockAdd(request: BlockInterfaceRequest, known: KnownBlocks = new KnownBlocks()): Task<AddOutcome> {
  assertInterface('blockAdd', request, known)
  return new AddTask(request, known)
}

/** Places that are served by one task of blocks: at most one pool for each family. */
interface Group {
  readonly pools: string[]
  readonly families: Family[]
  readonly addresses: Address.Address[]
}

interface Asked {
  readonly groups: readonly Group[]
  /** What was asked for, with its gateway. */
  readonly asked: readonly AskedAddress[]
}

class AddTask extends NetworkTask<AddOutcome> {
  readonly #request: BlockInterfaceRequest
  readonly #places: readonly Place[]
  #uid: string
  /** The pools in which this task may have written. */
  readonly #begun = new Set<string>()
  /** Of the request, or read. */
  #nodeLabels: Labels | undefined
  #plan: Asked | undefined
  #done = 0
  readonly #allocations: Allocation[] = []
  /** Why the task ends without addresses, once what it has written is released. */
  #failed: AddOutcome | undefined

  constructor(request: BlockInterfaceRequest, known: KnownBlocks) {
    super(known)
    this.#request = request
    this.#places = placesOf(request.network)
    this.#uid = request.podUid ?? ''
    this.#nodeLabels = request.nodeLabels
  }

  override refused(refusal: TaskRefusal): boolean {
    if (super.refused(refusal)) return true
    // a roll-back that is refused has no other way
    if (this.#failed !== undefined) return false
    const { code, message } = refusal
    this.leave()
    this.#failed = { kind: 'denied', message, code }
    return true
  }

  step(time: TaskTime): Step<AddOutcome> {
    if (this.#failed === undefined) {
      const step = this.#allocate(time)
      if (step !== undefined) return step
    }
    return this.#end(this.#failed as AddOutcome, time)
  }

  /** The next step; `undefined`: the task has failed. */
  #allocate(time: TaskTime): Step<AddOutcome> | undefined {
    const problem = configProblem(this.#request, this.#places)
    if (problem !== undefined) return this.#fail({ kind: 'refused', message: problem })
    if (this.#places.length === 0) return { kind: 'done', outcome: this.#allocated([]) }
    const pod = podRef(this.#request)
    const read = this.readPools(this.#places, this.#uid === '' ? [pod] : [])
    if (read !== undefined) return read
    this.#uid ||= this.object(pod)?.metadata.uid ?? ''
    if (this.#uid === '') return this.#fail({ kind: 'noPod', message: `there is no Pod ${pod.namespace}/${pod.name}` })
    if (this.#plan === undefined) {
      for (const place of this.#places) {
        const notReady = placeProblem(place, this.known)
        if (notReady === undefined) continue
        return this.readAgain(place) ?? this.#fail({ kind: 'poolNotReady', message: notReady })
      }
      const node = this.#readNode()
      if (node !== undefined) return node
      this.#plan = this.#grouped()
    }
    const { groups, asked } = this.#plan
    for (let group = groups[this.#done]; group !== undefined; group = groups[this.#done]) {
      const step = this.#give(group, time)
      if (step.kind !== 'done') return step
      const { outcome } = step
      if (outcome.kind !== 'allocated' && outcome.kind !== 'already') return this.#fail(failureOf(outcome))
      this.#allocations.push(...outcome.allocations)
      this.#done++
    }
    return this.#failed === undefined ? { kind: 'done', outcome: this.#allocated(asked) } : undefined
  }

  #give({ pools, families, addresses }: Group, time: TaskTime): Step<AllocationOutcome> {
    for (const pool of pools) this.#begun.add(pool)
    const texts = rowTexts({ ...this.#request, nodeLabels: this.#nodeLabels }, this.#uid)
    return this.delegate(() => allocate({ ...texts, pools, families, addresses }, this.known), time)
  }

  /** Reads the Node for its labels, if a pool selects Nodes and the request has no labels. */
  #readNode(): Step<AddOutcome> | undefined {
    const { nodeName = '' } = this.#request
    const selects = this.#places.some(({ pool }) => (this.known.pool(pool) as PoolView).object.spec.nodeSelector)
    if (!selects || nodeName === '' || this.#nodeLabels !== undefined) return undefined
    const { apiVersion, kind } = Node.info
    const ref = { apiVersion, kind, name: nodeName }
    const read = this.read([ref], 'the labels of the Node')
    if (read === undefined) this.#nodeLabels = this.object(ref)?.metadata.labels ?? {}
    return read
  }

  /** Places as requests to blocks. An owner has one row of each pool and family. */
  #grouped(): Asked {
    const left = [...this.#request.network.config.asked]
    const asked: AskedAddress[] = []
    const groups: Group[] = []
    for (const place of this.#places) {
      const view = this.known.pool(place.pool) as PoolView
      const families = familiesOf(place, view)
      let group = groups.find((one) => families.every((family) => !one.families.includes(family)))
      if (group === undefined) {
        group = { pools: [], families: [], addresses: [] }
        groups.push(group)
      }
      group.pools.push(place.pool)
      group.families.push(...families)
      for (const family of families) {
        const index = left.findIndex(({ address }) => address.family === family && isOf(place, view, address))
        if (index < 0) continue
        const [one] = left.splice(index, 1) as [AskedAddress]
        group.addresses.push(one.address)
        asked.push(one)
      }
    }
    const [other] = left
    if (other !== undefined) {
      const message = `${other.path}: no range is left for ${Address.format(other.address)}`
      this.#failed = { kind: 'refused', message }
      return { groups: [], asked }
    }
    return { groups, asked }
  }

  #fail(outcome: AddOutcome): undefined {
    this.#failed = outcome
  }

  /** Releases what the container has got, then ends. */
  #end(outcome: AddOutcome, time: TaskTime): Step<AddOutcome> {
    // a task of blocks that has failed has released its rows itself
    const isLast = this.#done === 0 && outcome.kind !== 'denied'
    if (this.#begun.size === 0 || isLast) return { kind: 'done', outcome }
    const { owner, interface: name, container } = rowTexts(this.#request, this.#uid)
    const pools = [...this.#begun]
    const step = this.delegate(() => release({ owner, interface: name, container, pools }, this.known), time)
    if (step.kind !== 'done') return step
    this.#begun.clear()
    return { kind: 'done', outcome }
  }

  #allocated(asked: readonly AskedAddress[]): AddOutcome {
    const { config } = this.#request.network
    const given = this.#places.flatMap((place) =>
      this.#allocations
        .filter(({ pool }) => pool === place.pool)
        .sort((left, right) => left.family - right.family)
        .map((allocation) => addedOf(allocation, place)),
    )
    const addresses = given.map(({ gateway, ...one }): AddedAddress => {
      const { address } = one.prefix
      const own = asked.find((other) => Address.equals(other.address, address))?.gateway
      return {
        ...one,
        gateway: own ?? gateway ?? (config.gateway?.family === address.family ? config.gateway : undefined),
      }
    })
    const { podNamespace, podName } = this.#request
    const texts = given.map(({ prefix }) => Address.format(prefix.address)).join(', ') || 'no range'
    return {
      kind: 'allocated',
      message: `${podNamespace}/${podName} has ${texts}`,
      addresses: [...addresses, ...config.addresses],
    }
  }
}

/** The answer has the length of the configured range, or of the subnet of the pool. */
function addedOf({ address, subnet, prefix, gateway }: Allocation, { range }: Place): AddedAddress {
  if (range !== undefined) return { prefix: Prefix.of(address, range.prefix.length) }
  return { prefix: Prefix.of(address, (subnet ?? prefix).length), gateway }
}

/** What a network on blocks cannot serve. */
export function configProblem(
  { network: { config }, nodeName }: BlockInterfaceRequest,
  places: readonly Place[],
): string | undefined {
  if (config.claim !== undefined) return `IPAMClaim ${config.claim.name} cannot hold addresses of blocks`
  const problem = places.find(({ range }) => range?.problem !== undefined)?.range?.problem
  if (problem !== undefined) return problem
  const names = places.map(({ pool }) => pool)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) return `two ranges have the pool ${twice}`
  return config.nodeSliceSize !== undefined && !nodeName ? 'node slices need the name of the Node' : undefined
}

/** The outcome of blocks in the words of whereabouts, which `cniOutcome` has codes for. */
function failureOf(
  outcome: Exclude<AllocationOutcome, { kind: 'allocated' | 'already' }>,
): Exclude<AddOutcome, { kind: 'allocated' }> {
  const { kind, message } = outcome
  switch (kind) {
    case 'exhausted':
    case 'taken':
    case 'refused':
      return { kind, message }
    case 'outOfPool':
      return { kind: 'refused', message }
    // its earlier container has another address, until the DEL of that one
    case 'different':
      return { kind: 'taken', message }
    case 'notReady':
      return { kind: 'poolNotReady', message }
    // a webhook, or the size of the block
    case 'denied':
      return { kind: 'denied', message, code: 'STORE_INVALID' }
  }
}
