import type { Change } from 'ipam-kit/plan'
import { type Attachment, isLive, podrefOf, type Sandbox } from './attachments.js'
import type { Answer, Call } from './kubelet.js'
import { addressesOf, domainOf, type Network, poolNameOf, reservationNameOf } from './networks.js'
import { type Reservation, type Row, Stored } from './stored.js'

/** What has made a change. */
export type Actor =
  | { readonly kind: 'people' }
  | { readonly kind: 'upstream' }
  /** `knows`: how many changes its watches had told it of when it made the write. */
  | { readonly kind: 'controller'; readonly name: string; readonly knows: number }
  | { readonly kind: 'plugin'; readonly call: Call }

/** An IPAMClaim with what it was given, by network. */
interface HeldClaim {
  readonly uid: string
  readonly network: Network
  readonly addresses: readonly string[]
  /** How many changes there had been when it was given its addresses. */
  readonly since: number
}

/**
 * What must hold after every write. The rules are about writes and answers of the library; what
 * upstream takes away is only noted.
 */
export class Rules {
  readonly stored = new Stored()
  readonly problems: string[] = []
  /** Reservations that people have made for what is no Pod of a network. */
  readonly foreign = new Map<string, string>()
  /** Whether Pods that have ended keep their addresses. */
  readonly keepsCompleted: boolean
  readonly #claims = new Map<string, HeldClaim>()
  #count = 0
  /** How many changes there had been when a row was written, by pool and key. */
  readonly #written = new Map<string, number>()
  protected readonly sandboxes = new Map<string, Sandbox>()

  constructor({ keepsCompleted }: { readonly keepsCompleted: boolean }) {
    this.keepsCompleted = keepsCompleted
  }

  made(sandbox: Sandbox): void {
    this.sandboxes.set(sandbox.id, sandbox)
  }

  observe(change: Change, actor: Actor): void {
    this.#count++
    const { lost, gained, lostReservation } = this.stored.observe(change)
    for (const { pool, key } of gained) this.#written.set(`${pool} ${key}`, this.#count)
    for (const row of lost) this.#lostRow(row, actor)
    if (lostReservation !== undefined) this.#lostReservation(lostReservation, actor)
    for (const [name, { uid }] of this.#claims) {
      if (this.stored.claims.get(name)?.metadata.uid !== uid) this.#claims.delete(name)
    }
  }

  /** An ADD has answered with these addresses. */
  added({ attachment }: Call, { addresses, lengths = [] }: Extract<Answer, { kind: 'addresses' }>): void {
    const { network, ifname, sandbox } = attachment
    const what = `ADD of ${sandbox.id} ${ifname} has answered ${addresses.join(' and ') || 'nothing'}`
    const before = attachment.granted
    attachment.granted ??= addresses
    if (attachment.flavor === 'upstream') return
    // what a DEL, or the end of the Pod, takes away meanwhile is no mistake
    if (attachment.hasDel || attachment.isTainted || !this.hasPod(sandbox)) return
    if (before !== undefined && before.join() !== addresses.join()) this.wrong(`${what}, and ${before.join()} before`)
    if (addresses.length !== network.ranges.length) this.wrong(`${what}, for ${network.ranges.length} ranges`)
    const wanted = network.ranges.map(({ range }) => Number(range.split('/')[1]))
    if (wanted.join() !== lengths.join()) this.wrong(`${what} with the lengths ${lengths.join()}`)
    for (const [nth, address] of addresses.entries()) this.checkGiven(attachment, address, nth, what)
    this.#checkShared(attachment, addresses, what)
    if (attachment.claim !== undefined) this.#checkClaim(attachment, attachment.claim, addresses, what)
  }

  /** A DEL has answered that it is done. */
  deleted({ attachment }: Call): void {
    const { sandbox, ifname, network, flavor } = attachment
    if (flavor === 'upstream' || attachment.adds > 0 || attachment.hasLateWrites) return
    const pools = network.ranges.map((range) => poolNameOf(network, range))
    const left = pools.flatMap((pool) => this.stored.rows(pool)).filter((row) => this.isOf(row, attachment))
    const [row] = left.filter(({ address }) => !this.#isClaimed(network, address))
    if (row !== undefined) this.wrong(`DEL of ${sandbox.id} ${ifname} is done, and the row of ${row.address} is left`)
  }

  /** A CHECK has answered that an interface does not have its addresses. */
  missed({ attachment }: Call, why: string): void {
    const { sandbox, ifname } = attachment
    if (!isLive(attachment) || attachment.isTainted || !this.hasPod(sandbox)) return
    this.wrong(`CHECK of ${sandbox.id} ${ifname} has failed: ${why}`)
  }

  /** Whether the rows of the pool, and their reservations, say what has its addresses. */
  isTruth(_pool: string): boolean {
    return true
  }

  /** The interfaces that are in use. */
  get live(): readonly Attachment[] {
    return this.attachments.filter((attachment) => isLive(attachment) && this.hasPod(attachment.sandbox))
  }

  get attachments(): readonly Attachment[] {
    return [...this.sandboxes.values()].flatMap(({ attachments }) => attachments)
  }

  /** Whether an existing claim has the address. */
  isClaimed(row: Row): boolean {
    return [...this.#claims.values()].some(({ network, addresses }) => {
      return network.ranges.some((range) => poolNameOf(network, range) === row.pool) && addresses.includes(row.address)
    })
  }

  /** A row that an interface uses is freed in a pool that is not the truth. */
  protected lostBeside(_row: Row, _owner: Attachment, _actor: Actor): void {}

  protected checkGiven(attachment: Attachment, address: string, nth: number, what: string): void {
    const { network } = attachment
    const range = network.ranges[nth]
    if (range === undefined) return
    if (!addressesOf(network, range, 'ours').includes(address))
      this.wrong(`${what}, and ${range.range} does not give it`)
    const pool = poolNameOf(network, range)
    const row = this.stored.rows(pool).find((each) => each.address === address)
    if (row === undefined || !this.isOf(row, attachment))
      this.wrong(`${what}, and ${pool} has no row of ${address} for it`)
    if (!network.overlap) return
    const reservation = this.stored.reservations.get(reservationNameOf(network, address))
    if (reservation?.podref !== podrefOf(attachment)) this.wrong(`${what}, and has no reservation of ${address}`)
  }

  #checkShared(attachment: Attachment, addresses: readonly string[], what: string): void {
    for (const other of this.live) {
      if (other === attachment || other.isTainted || domainOf(other.network) !== domainOf(attachment.network)) continue
      const shared = addresses.find((address) => other.granted?.includes(address))
      if (shared !== undefined) this.wrong(`${what}, and ${other.sandbox.id} ${other.ifname} uses ${shared}`)
    }
  }

  #checkClaim(attachment: Attachment, name: string, addresses: readonly string[], what: string): void {
    const { network } = attachment
    const uid = this.stored.claims.get(name)?.metadata.uid
    if (uid === undefined) return
    attachment.claimUid = uid
    const held = this.#claims.get(name)
    if (held !== undefined && held.network === network && held.addresses.join() !== addresses.join())
      this.wrong(`${what}, and the claim ${name} has ${held.addresses.join()}`)
    const user = this.live.find((other) => other.sandbox.pod !== attachment.sandbox.pod && other.claimUid === uid)
    if (user !== undefined) this.wrong(`${what}, and ${user.sandbox.id} uses the claim ${name}`)
    this.#claims.set(name, { uid, network, addresses, since: this.#count })
  }

  #lostRow(row: Row, actor: Actor): void {
    const owner = this.sandboxes.get(row.id)?.attachments.find(({ ifname }) => ifname === row.ifname)
    const isInUse = owner !== undefined && isLive(owner) && this.hasPod(owner.sandbox) && has(owner, row.address)
    const by = nameOf(actor)
    if (actor.kind === 'upstream') {
      if (owner !== undefined) owner.isTainted = true
      for (const [name, claim] of this.#claims) if (claim.addresses.includes(row.address)) this.#claims.delete(name)
      return
    }
    if (actor.kind === 'people') return
    if (!this.isTruth(row.pool)) {
      if (isInUse) this.lostBeside(row, owner, actor)
      return
    }
    if (owner !== undefined && this.isTakenOver(row, actor, owner)) {
      owner.isTainted = true
      return
    }
    if (isInUse) this.wrong(`${by} has freed ${row.address} of ${row.id} ${row.ifname}, which uses it`)
    this.#dropUnknown(row, actor)
    const isKept = this.stored.rows(row.pool).some(({ address }) => address === row.address)
    if (!isKept && this.isClaimed(row)) this.wrong(`${by} has freed ${row.address} of ${row.pool}, which a claim holds`)
    if (actor.kind !== 'plugin' || actor.call.verb === 'GC') return
    const { attachment } = actor.call
    if (!this.isOf(row, attachment) && attachment.claim === undefined)
      this.wrong(`${by} has freed ${row.address} of ${row.id} ${row.ifname}`)
  }

  /**
   * A claim that the watches of a sweep do not show yet: the row of a Pod that was there for
   * moments says nothing of it, where the API server drops what the definitions of upstream do not
   * have.
   */
  #dropUnknown({ address }: Row, actor: Actor): void {
    if (actor.kind !== 'controller') return
    for (const [name, { addresses, since }] of this.#claims) {
      if (since > actor.knows && addresses.includes(address)) this.#claims.delete(name)
    }
  }

  #lostReservation(reservation: Reservation, actor: Actor): void {
    const { name, podref } = reservation
    const by = nameOf(actor)
    const holders = this.attachments.filter((each) => {
      const names = each.granted?.map((address) => reservationNameOf(each.network, address))
      const isTruth = each.network.ranges.every((range) => this.isTruth(poolNameOf(each.network, range)))
      return each.network.overlap && isTruth && podrefOf(each) === podref && names?.includes(name)
    })
    if (actor.kind === 'upstream') {
      for (const holder of holders) holder.isTainted = true
      return
    }
    if (actor.kind === 'people') return
    if (this.foreign.get(name) === podref) this.wrong(`${by} has deleted the reservation ${name} of ${podref}`)
    const user = holders.find((each) => isLive(each) && this.hasPod(each.sandbox) && !each.isTainted)
    if (user !== undefined && this.#isAdopted(reservation, user, actor)) {
      user.isTainted = true
      return
    }
    if (user !== undefined) this.wrong(`${by} has deleted the reservation ${name}, which ${user.sandbox.id} uses`)
    if (actor.kind !== 'plugin' || actor.call.verb === 'GC') return
    const { attachment } = actor.call
    const isTruth = attachment.network.ranges.every((range) => this.isTruth(poolNameOf(attachment.network, range)))
    if (podref !== podrefOf(attachment) && attachment.claim === undefined && isTruth)
      this.wrong(`${by} has deleted the reservation ${name} of ${podref}`)
  }

  /**
   * Whether an ADD of upstream found a reservation of its Pod name, and wrote only its row. Neither
   * the uid nor the version of the reservation changes, so that no check of a delete can see it: not
   * of one that was sent before that row was there, and not of the DEL of the container that the
   * reservation names.
   */
  #isAdopted({ name, containerId }: Reservation, user: Attachment, actor: Actor): boolean {
    const { flavor, network, sandbox, ifname } = user
    if (flavor !== 'upstream' || (actor.kind !== 'controller' && actor.kind !== 'plugin')) return false
    if (actor.kind === 'plugin') return containerId === actor.call.attachment.sandbox.id
    const { knows } = actor
    return network.ranges.some((range) =>
      this.stored.rows(poolNameOf(network, range)).some((row) => {
        const isHere = reservationNameOf(network, row.address) === name
        const isOwn = row.id === sandbox.id && row.ifname === ifname
        return isHere && isOwn && (this.#written.get(`${row.pool} ${row.key}`) ?? 0) > knows
      }),
    )
  }

  /**
   * Whether an ADD of another container of the Pod takes the row of a claim over. If the kubelet
   * does not wait for the ADD of an earlier one, neither can know which container is the later one.
   */
  protected isTakenOver(_row: Row, actor: Actor, { sandbox, claim }: Attachment): boolean {
    if (actor.kind !== 'plugin' || claim === undefined) return false
    const { verb, attachment } = actor.call
    return verb === 'ADD' && attachment.claim === claim && attachment.sandbox.pod === sandbox.pod
  }

  protected isOf(row: Row, { sandbox, ifname }: Attachment): boolean {
    return row.id === sandbox.id && row.ifname === ifname
  }

  #isClaimed(network: Network, address: string): boolean {
    return network.ranges.some((range) => {
      const pool = poolNameOf(network, range)
      return this.stored.rows(pool).some((row) => row.address === address && this.isClaimed(row))
    })
  }

  /** Whether the Pod of a sandbox exists, and has not ended. */
  protected hasPod({ pod }: Sandbox): boolean {
    return this.stored.pods.get(pod.name)?.metadata.uid === pod.uid
  }

  protected wrong(problem: string): void {
    this.problems.push(problem)
  }
}

export function has({ granted = [] }: Attachment, address: string): boolean {
  return granted.includes(address)
}

export function nameOf(actor: Actor): string {
  if (actor.kind === 'controller') return actor.name
  if (actor.kind !== 'plugin') return actor.kind
  const { verb, attachment } = actor.call
  return `${verb} of ${attachment.sandbox.id} ${attachment.ifname}`
}
