import { isDeleting, type KubeObject, refOf } from 'ipam-kit/crd/meta'
import type { Change } from 'ipam-kit/plan'
import type { Store } from 'ipam-kit/store'
import type { ObservedWrite, SimulationRules } from 'ipam-kit/testing'
import { type ChosenOptions, isServed, isTarget } from './objects.js'
import { askedProblem, macProblem } from './requests.js'
import { addressRest } from './rest.js'
import { releaseProblem, rowRest, rowsOf, unrecorded } from './rows.js'
import { claimProblem, claimRest } from './rules-claims.js'
import {
  addressOf,
  allocatedOf,
  attachmentsOf,
  entriesOf,
  type Held,
  ipsOf,
  isUser,
  mayUse,
  networkOf,
  pairsOf,
  Stored,
  type Write,
} from './stored.js'

/** What a simulation tells the rules about itself. */
export interface RuledWorld {
  /** Whether the process of a writer is on. */
  isOn(writer: string): boolean
  /** Whether the feature is on in the end. */
  readonly isOnAtLast: () => boolean
  /** Whether blocks have the addresses. */
  readonly hasBlocks: boolean
  readonly options: ChosenOptions
}

const RULED: ReadonlySet<string> = new Set(['IPAMClaim', 'Pod', 'IPBlock'])

/** What always holds, and what holds at rest. */
export class PersistentIPRules implements SimulationRules {
  readonly #world: RuledWorld
  readonly #stored = new Stored()

  constructor(world: RuledWorld) {
    this.#world = world
  }

  observe(change: Change, { by }: ObservedWrite): string | undefined {
    const { before, now } = this.#stored.apply(change, by !== undefined)
    const { kind, namespace, name } = change.kind === 'present' ? refOf(change.object) : change.ref
    if (by === undefined || !RULED.has(kind)) return undefined
    const write: Write = { before, now, name: `${kind} ${namespace}/${name}`, by }
    if (kind === 'IPBlock') return releaseProblem(this.#stored, write)
    const off = this.#world.isOn(by.name) ? undefined : offProblem(write)
    if (kind === 'Pod') return off ?? this.#podProblem(write)
    return (
      off ?? claimProblem(this.#stored, write, this.#world.options.unplugged === 'delete') ?? this.#statusProblem(write)
    )
  }

  async atRest(_store: Store): Promise<string | undefined> {
    const isOn = this.#world.isOnAtLast()
    const rows = isOn && this.#world.hasBlocks ? rowRest(this.#stored) : undefined
    return claimRest(this.#stored, isOn) ?? addressRest(this.#stored, isOn, this.#world.options) ?? rows
  }

  /** A claim gets addresses of all families once, and keeps them. */
  #statusProblem({ before, now, name, by }: Write): string | undefined {
    if (now === undefined || before?.status === now.status) return undefined
    const [had, has] = [before === undefined ? [] : ipsOf(before), ipsOf(now)]
    const { ips } = (now.status ?? { ips: [] }) as { readonly ips?: unknown }
    if (!Array.isArray(ips)) return `T7: the status of ${name} has no list of addresses`
    const misnamed = this.#ownerPodProblem(before, now, name, by.knows)
    if (misnamed !== undefined || had.join() === has.join()) return misnamed
    if (had.length > 0 && !this.#stored.hasHad(now, has)) return `T4: ${name} has had ${had}, and gets ${has}`
    const { network = '' } = now.spec as { readonly network?: string }
    // the addresses from before an edit: what a tenant has written elsewhere since does not count
    if (had.length > 0) return undefined
    const isBack = this.#stored.hasHad(now, has)
    return (isBack ? undefined : this.#wholeProblem(name, network, has)) ?? this.#takenProblem(now, name, by.knows)
  }

  /** A claim names a Pod that runs; in a live migration the source until the target runs. */
  #ownerPodProblem(before: KubeObject | undefined, now: KubeObject, name: string, knows: number): string | undefined {
    const user = ownerPodOf(now)
    if (user === undefined || ownerPodOf(before) === user) return undefined
    const { namespace } = now.metadata
    const ended = this.#stored.endedAt.get(`${namespace}/${user}`)
    if (ended !== undefined && ended < knows) return `${name} names the Pod ${user}, which has ended`
    const pod = this.#stored.get('Pod', namespace, user)
    if (pod === undefined || !isTarget(pod)) return undefined
    const source = this.#stored.held().find(({ holder, since }) => {
      const isSource = holder.kind === 'Pod' && !isTarget(holder) && isServed(holder) && isUser(holder, now)
      return isSource && since < knows && this.#stored.namedSince(holder, now.metadata.name) < knows
    })
    return source && `${name} names the target ${user}, and the machine runs in ${source.holder.metadata.name}`
  }

  /** A Pod gets addresses once for each interface, and those of its claim. */
  #podProblem({ before, now, name, by }: Write): string | undefined {
    if (now === undefined || before === undefined) return undefined
    const [had, has] = [entriesOf(before), entriesOf(now)]
    for (const [key, ips] of had) {
      if (ips.length > 0 && has.get(key)?.join() !== ips.join())
        return `${name} has had ${ips} in ${key}, and loses them`
    }
    for (const [key, ips] of has) {
      if (had.get(key)?.join() === ips.join()) continue
      const problem =
        askedProblem(now, name, key, ips, this.#world.options) ?? this.#entryProblem(now, name, key, ips, by.knows)
      if (problem !== undefined) return problem
    }
    const problem = macProblem(this.#stored, { before, now, name, by })
    return problem ?? this.#twiceProblem(now, name) ?? this.#takenProblem(now, name, by.knows, before)
  }

  #entryProblem(pod: KubeObject, name: string, key: string, ips: readonly string[], knows: number): string | undefined {
    const stored = this.#stored
    const network = networkOf(key, ips[0])
    const attachment = attachmentsOf(pod)?.find((each) => each.key === key)
    const claim = stored.get('IPAMClaim', pod.metadata.namespace, attachment?.claim ?? '')
    const past = ips.flatMap((ip) => [...(stored.past.get(`${network} ${addressOf(ip)}`)?.values() ?? [])])
    const versions = past.filter(({ metadata }) => metadata.name === attachment?.claim)
    if (versions.length === 0) {
      const isOfClaim = claim !== undefined && ['lab', 'green'].includes(network) && !stored.ignoring.has(network)
      if (isOfClaim) return `${name} gets ${ips} before its claim ${claim.metadata.name}`
      return this.#wholeProblem(`${name} in ${key}`, network, ips)
    }
    const isCurrent = claim !== undefined && ips.every((ip) => ipsOf(claim).map(addressOf).includes(addressOf(ip)))
    // beside its claim, a Pod may get an address that the claim has no more
    const isBeside = stored.ignoring.has(network) && !isCurrent
    if (!isBeside && !versions.some((version) => mayUse(pod, version))) {
      return `T6: ${name} gets ${ips} of the claim ${attachment?.claim} of another workload`
    }
    if (claim === undefined || !isCurrent || this.#world.options.terminatingClaim === 'serve') return undefined
    const since = stored.deletedAt.get(claim.metadata.uid ?? '')
    if (since === undefined || since >= knows) return undefined
    return `T1: ${name} gets ${ips} of the claim ${claim.metadata.name}, which is being deleted`
  }

  /** A network with two families gives both, or nothing. */
  #wholeProblem(what: string, network: string, ips: readonly string[]): string | undefined {
    if (ips.length === 0) return undefined
    const families = ips.map((ip) => (ip.includes(':') ? 6 : 4)).sort()
    const expected = network === 'lab' ? '4,6' : '4'
    return families.join() === expected
      ? undefined
      : `T5: ${what} gets ${ips}, and the network has the families ${expected}`
  }

  /** Two interfaces of a Pod never have one address. */
  #twiceProblem(pod: KubeObject, name: string): string | undefined {
    const texts = pairsOf(pod).map(({ network, address }) => `${network} ${address}`)
    const twice = texts.find((text, index) => texts.indexOf(text) !== index)
    return twice && `T2: two interfaces of ${name} have ${twice}`
  }

  /** A new address is of no other holder that the writer knows. */
  #takenProblem(now: KubeObject, name: string, knows: number, before?: KubeObject): string | undefined {
    const had = new Set(pairsOf(before).map(({ network, address }) => `${network} ${address}`))
    const held = this.#stored.held()
    const added = pairsOf(now).filter(({ network, address }) => !had.has(`${network} ${address}`))
    if (this.#world.hasBlocks) {
      const problem = unrecorded(this.#stored, name, added)
      if (problem !== undefined) return problem
    }
    for (const { network, address } of added) {
      const others = held.filter((each) => each.network === network && each.address === address)
      const other = others.find((each) => each.holder !== now && !this.#isShared(now, each, knows))
      if (other === undefined) continue
      const { kind, metadata } = other.holder
      return `T3: ${name} gets ${address} of ${network}, which ${kind} ${metadata.namespace}/${metadata.name} has`
    }
    return undefined
  }

  /** Whether two holders may have an address: a claim and its Pods. */
  #isShared(one: KubeObject, { holder: other, network, address, since, isOurs, isEdit }: Held, knows: number): boolean {
    if (isEdit || (!isOurs && since >= knows)) return true
    // what a tenant has written has no row: that of the other holder counts
    if (!isOurs && this.#world.hasBlocks) {
      const row = rowsOf(this.#stored).find((each) => each.network === network && each.address === address)
      if (row !== undefined && row.uid !== other.metadata.uid) return true
    }
    const [claim, pod] = one.kind === 'IPAMClaim' ? [one, other] : [other, one]
    const claims = [...(this.#stored.past.get(`${network} ${address}`)?.values() ?? [])]
    if (claim.kind === 'IPAMClaim' && pod.kind === 'Pod' && isUser(pod, claim)) return true
    // one that comes with its addresses is later than one that has got them
    const isLater = !isOurs && other.kind === 'IPAMClaim' && allocatedOf(other)?.status !== 'True'
    if (isLater)
      return claims.some((each) => allocatedOf(each)?.status === 'True' && (each === one || isUser(one, each)))
    if (claim.kind === 'IPAMClaim') return false
    return claims.some((each) => isUser(one, each) && isUser(other, each))
  }
}

function ownerPodOf(claim: KubeObject | undefined): string | undefined {
  return (claim?.status as { readonly ownerPod?: { readonly name?: string } } | undefined)?.ownerPod?.name
}

/** A process that is off writes no addresses, and makes no claims. */
function offProblem({ before, now, name }: Write): string | undefined {
  if (now === undefined || (before !== undefined && isDeleting(now))) return undefined
  if (before === undefined) return `${name} is made while the feature is off`
  if (now.kind === 'Pod')
    return entriesOf(now).size === entriesOf(before).size ? undefined : `${name} is served while off`
  return JSON.stringify(now.status) === JSON.stringify(before.status)
    ? undefined
    : `the status of ${name} is written while off`
}
