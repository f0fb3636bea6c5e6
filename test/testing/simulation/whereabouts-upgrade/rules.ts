import type { Change } from 'ipam-kit/plan'
import { type Attachment, isLive } from '../whereabouts/attachments.js'
import { LEASE, POOL } from '../whereabouts/kinds.js'
import type { Answer, Call } from '../whereabouts/kubelet.js'
import { addressesOf, type Network, type NetworkRange, poolNameOf, reservationNameOf } from '../whereabouts/networks.js'
import { type Actor, has, nameOf, Rules } from '../whereabouts/rules.js'
import type { Row } from '../whereabouts/stored.js'
import { blockPoolsOf } from './networks.js'
import { type BlockRow, StoredBlocks } from './stored-blocks.js'
import type { Phase, Upgrade } from './upgrade.js'

const ANNOTATION = 'ipam-kit.dev/upgrade'
const HOLDER = 'ipam-kit-upgrade'

/**
 * What must hold after every write while pools are upgraded. The pool is the truth without a phase
 * and in `dual-write`; the blocks are it in `blocks` and `finished`.
 */
export class UpgradeRules extends Rules {
  readonly blocks = new StoredBlocks()
  readonly #upgrade: Upgrade
  readonly #phases = new Map<string, Phase>()
  readonly #domains: ReadonlyMap<Network, readonly string[]>
  /** Whether nodes of upstream respect the Lease of the upgrade. */
  honoursRecord = true
  #holder = ''

  constructor(upgrade: Upgrade) {
    super({ keepsCompleted: true })
    this.#upgrade = upgrade
    this.#domains = new Map(
      upgrade.networks.map((network) => [network, blockPoolsOf(network).map(({ spec }) => spec.domain)]),
    )
  }

  phaseOf(pool: string): Phase {
    return this.#phases.get(pool)
  }

  override isTruth(pool: string): boolean {
    const phase = this.#phases.get(pool)
    return phase === undefined || phase === 'dual-write'
  }

  override observe(change: Change, actor: Actor): void {
    super.observe(change, actor)
    for (const row of this.blocks.observe(change)) this.#lostBlockRow(row, actor)
    const { kind, name } = change.kind === 'present' ? { ...change.object, ...change.object.metadata } : change.ref
    const apiVersion = change.kind === 'present' ? change.object.apiVersion : change.ref.apiVersion
    if (kind === LEASE.kind && change.kind === 'present') this.#leased(change.object.spec, actor)
    if (kind === POOL.kind && apiVersion === POOL.apiVersion) this.#observePhase(name, change)
  }

  /** The domain of blocks of a range. */
  domainOf(network: Network, nth: number): string {
    return this.#domains.get(network)?.[nth] as string
  }

  /** Whether each range of a network has an address that is free on both sides. */
  hasFree(network: Network): boolean {
    return network.ranges.every((range, nth) => {
      const rows = this.stored.rows(poolNameOf(network, range))
      return addressesOf(network, range, 'ours').some((address) => {
        const isReserved = network.overlap && this.stored.reservations.has(reservationNameOf(network, address))
        const isInBlocks = this.blocks.at(this.domainOf(network, nth), address) !== undefined
        return !isReserved && !isInBlocks && !rows.some((row) => row.address === address)
      })
    })
  }

  /** The rows of an interface, on both sides. */
  rowsOf(attachment: Attachment): readonly { readonly address: string }[] {
    const pools = this.stored.allRows.filter((row) => this.isOf(row, attachment))
    return [...pools, ...this.#blockRowsOf(attachment)]
  }

  /** What an interface in use does not have on the side that is the truth. */
  lost(attachment: Attachment): readonly string[] {
    const { network, sandbox, ifname, granted = [], flavor, isTainted } = attachment
    if (flavor === 'upstream' || isTainted) return []
    return granted.flatMap((address, nth) => {
      const pool = poolNameOf(network, network.ranges[nth] as NetworkRange)
      const hasRow = this.isTruth(pool)
        ? this.stored.rows(pool).some((row) => row.address === address && this.isOf(row, attachment))
        : this.#hasBlockRow(attachment, nth, address)
      const side = this.isTruth(pool) ? pool : `blocks of ${pool}`
      return hasRow ? [] : [`${sandbox.id} ${ifname} uses ${address}, and the ${side} have no row of it`]
    })
  }

  /** Until a step finds it, upstream gives addresses of a pool that is no longer the truth. */
  override added(call: Call, answer: Extract<Answer, { kind: 'addresses' }>): void {
    super.added(call, answer)
    const { flavor, network } = call.attachment
    const isBeside = network.ranges.some((range) => !this.isTruth(poolNameOf(network, range)))
    if (flavor === 'upstream' && isBeside) call.attachment.isTainted = true
  }

  override deleted(call: Call): void {
    // a step may write a row again that the DEL has freed before
    if (this.#upgrade.busy > 0 || this.#upgrade.stepsSince(call) > 0) return
    const { attachment } = call
    const carrier = this.#upgrade.carrierFor(call)
    if (carrier === 'whereabouts') super.deleted(call)
    const { sandbox, ifname, network, adds, hasLateWrites } = attachment
    if (adds > 0 || hasLateWrites) return
    const phases = network.ranges.map((range) => this.#phases.get(poolNameOf(network, range)))
    if (phases.every((phase) => phase === undefined)) return
    const left = this.#blockRowsOf(attachment)
    if (left.length > 0)
      this.wrong(`DEL of ${sandbox.id} ${ifname} is done, and the row of ${left[0]?.address} is left in blocks`)
  }

  /** Upstream has added the row since the cut-over: no step may remove it. */
  protected override lostBeside({ address }: Row, owner: Attachment, actor: Actor): void {
    if (owner.flavor !== 'upstream' || actor.kind !== 'controller') return
    const isInBlocks = this.#blockRowsOf(owner).some((row) => row.address === address)
    if (!isInBlocks) this.wrong(`${nameOf(actor)} has freed ${address} of ${owner.sandbox.id} of upstream`)
  }

  protected override checkGiven(attachment: Attachment, address: string, nth: number, what: string): void {
    const { network } = attachment
    const range = network.ranges[nth]
    if (range === undefined) return
    if (this.isTruth(poolNameOf(network, range))) return void super.checkGiven(attachment, address, nth, what)
    if (this.#hasBlockRow(attachment, nth, address)) return
    const present = this.blocks.at(this.domainOf(network, nth), address)
    if (present !== undefined && isOfPod(present, attachment)) attachment.isTainted = true
    else this.wrong(`${what}, and the blocks have no row of ${address} for it`)
  }

  /** With a phase, an ADD of another container of the Pod takes the row of its interface over. */
  protected override isTakenOver(row: Row, actor: Actor, owner: Attachment): boolean {
    if (actor.kind !== 'plugin' || this.#phases.get(row.pool) === undefined) return super.isTakenOver(row, actor, owner)
    const { verb, attachment } = actor.call
    return verb === 'ADD' && attachment.ifname === owner.ifname && attachment.sandbox.pod === owner.sandbox.pod
  }

  #blockRowsOf({ network, sandbox, ifname }: Attachment): readonly BlockRow[] {
    const domains = this.#domains.get(network) ?? []
    return this.blocks.allRows.filter(
      (row) => domains.includes(row.domain) && row.container === sandbox.id && row.ifname === ifname,
    )
  }

  #hasBlockRow(attachment: Attachment, nth: number, address: string): boolean {
    const domain = this.domainOf(attachment.network, nth)
    return this.#blockRowsOf(attachment).some((row) => row.domain === domain && row.address === address)
  }

  #lostBlockRow(row: BlockRow, actor: Actor): void {
    const owner = this.sandboxes.get(row.container)?.attachments.find(({ ifname }) => ifname === row.ifname)
    if (owner === undefined || !isLive(owner) || !this.hasPod(owner.sandbox) || !has(owner, row.address)) return
    const nth = owner.granted?.indexOf(row.address) ?? 0
    const pool = poolNameOf(owner.network, owner.network.ranges[nth] as NetworkRange)
    if (this.isTruth(pool) || this.domainOf(owner.network, nth) !== row.domain) return
    const present = this.blocks.at(row.domain, row.address)
    if (present !== undefined && isOfPod(present, owner)) {
      owner.isTainted = true
      return
    }
    this.wrong(`${nameOf(actor)} has freed ${row.address} of ${row.container} ${row.ifname} in blocks, which uses it`)
  }

  #observePhase(name: string, change: Change): void {
    const before = this.#phases.get(name)
    const value = change.kind === 'present' ? change.object.metadata.annotations?.[ANNOTATION] : undefined
    const phase = value as Phase
    const isUsed = phase !== 'finished' || this.stored.rows(name).length > 0
    if (before === 'finished' && isUsed) this.wrong(`the pool ${name} is used after its upgrade`)
    if (change.kind === 'absent' && before !== undefined) this.wrong(`the pool ${name} is deleted in ${before}`)
    if (phase === before) return
    this.#phases.set(name, phase)
    if (phase === 'dual-write' && before === 'blocks') this.#upgrade.isEqualAgain(name)
    for (const attachment of this.live) {
      if (!this.#upgrade.networksOf(name).includes(attachment.network)) continue
      for (const problem of this.lost(attachment)) this.wrong(`${name} changes from ${before} to ${phase}: ${problem}`)
    }
    if (phase === 'blocks') this.#checkRowsOfUpstream(name)
  }

  /** Rows of upstream are copied before the blocks are the truth. */
  #checkRowsOfUpstream(pool: string): void {
    for (const { id, ifname, address } of this.stored.rows(pool)) {
      const owner = this.live.find((each) => each.sandbox.id === id && each.ifname === ifname)
      if (owner === undefined) continue
      const isCopied = this.#blockRowsOf(owner).some((row) => row.address === address)
      if (!isCopied) this.wrong(`the blocks of ${pool} are the truth without the row of ${address} of ${id} ${ifname}`)
    }
  }

  #leased(spec: unknown, actor: Actor): void {
    const { holderIdentity = '' } = spec as { readonly holderIdentity?: string }
    const isStolen = this.#holder === HOLDER && actor.kind === 'upstream'
    if (isStolen && this.honoursRecord) this.wrong(`${holderIdentity} of upstream has taken the Lease of the upgrade`)
    this.#holder = holderIdentity
  }
}

/**
 * Whether a late ADD of an earlier container of the Pod has taken the row over: neither can know
 * which container is the later one. The Pod keeps the address.
 */
function isOfPod({ uid, ifname }: BlockRow, attachment: Attachment): boolean {
  return uid === attachment.sandbox.pod.uid && ifname === attachment.ifname
}
