import { Address } from 'ipam-kit/cidr'
import type { KubeObject } from 'ipam-kit/crd/meta'

// Which rows and reservations of whereabouts have to stay, and which have to go: one rule after the
// other over all objects of a store, without indexes, caches and grace periods.

/** A pool of the tests: its range, and the network whose rows it has. */
export interface Place {
  readonly pool: string
  readonly range: string
  readonly network: string
}

export const PLACES: readonly Place[] = [
  { pool: '10.20.0.0-24', range: '10.20.0.0/24', network: '' },
  { pool: 'blue-10.20.0.0-24', range: '10.20.0.0/24', network: 'blue' },
  { pool: 'fd00-20---64', range: 'fd00:20::/64', network: '' },
]

/** The text of an address of a pool. */
export function addressAt({ range }: Place, offset: number): string {
  return range.startsWith('fd00') ? `fd00:20::${offset}` : `10.20.0.${offset}`
}

export function reservationAt(place: Place, offset: number): string {
  const address = addressAt(place, offset).replaceAll(':', '-')
  return place.network === '' ? address : `${place.network}-${address}`
}

/** A row that is understood. */
export interface Row {
  /** The pool and the key. */
  readonly name: string
  readonly place: Place
  readonly address: string
  readonly podref: string
  readonly ifname: string
  readonly stored: { readonly [member: string]: unknown }
}

interface Reservation {
  readonly name: string
  readonly network: string
  readonly address: string
  readonly podref: string
}

interface Report {
  readonly address: string
  readonly ifname: string
}

interface Pod {
  readonly phase: string
  readonly isEvicted: boolean
  /** `undefined`: the network status is not known. */
  readonly reports: readonly Report[] | undefined
}

interface Claim {
  readonly path: string
  readonly uid: string
  readonly addresses: readonly string[]
}

export interface Rules {
  readonly completedPods: 'keep' | 'free'
  readonly evictedPods: 'keep' | 'free'
}

/** The watches whose events have all been seen. */
export interface Seen {
  readonly claims: boolean
  readonly rows: boolean
}

const KEY = /^0?[0-9]{1,2}$/u
const family = (address: string) => address.includes(':')
const textOf = (value: unknown) => (typeof value === 'string' ? value : '')

export class Truth {
  readonly rows: readonly Row[]
  readonly reservations: readonly Reservation[]
  readonly #pods: ReadonlyMap<string, Pod>
  readonly #claims: readonly Claim[]
  readonly #rules: Rules
  readonly #objects: readonly KubeObject[]

  constructor(objects: readonly KubeObject[], rules: Rules, isLeft: (name: string) => boolean = () => true) {
    const of = (kind: string) => objects.filter((object) => object.kind === kind)
    this.rows = of('IPPool')
      .flatMap(rowsOf)
      .filter(({ name }) => isLeft(name))
    this.reservations = of('OverlappingRangeIPReservation')
      .map(reservationOf)
      .filter(({ name }) => isLeft(name))
    this.#pods = new Map(of('Pod').map((pod) => [`${pod.metadata.namespace}/${pod.metadata.name}`, podOf(pod)]))
    this.#claims = of('IPAMClaim').map(claimOf)
    this.#rules = rules
    this.#objects = objects
  }

  get names(): readonly string[] {
    return [...this.rows, ...this.reservations].map(({ name }) => name).sort()
  }

  /** The rows and reservations that have to go in the end. */
  get surplus(): readonly string[] {
    const rows = this.rows.filter((row) => this.goes(row))
    return [...rows, ...this.reservations.filter((one) => this.isLeft(one))].map(({ name }) => name)
  }

  /** What is left in the end: what goes may let more go. */
  settled(): Truth {
    const { names, surplus } = this
    if (surplus.length === 0) return this
    const left = names.filter((name) => !surplus.includes(name))
    return new Truth(this.#objects, this.#rules, (name) => left.includes(name)).settled()
  }

  /** Whether a row has to go in the end. One that does not has to stay. */
  goes(row: Row): boolean {
    const { stored, podref } = row
    if (isOfOwner(stored) || this.#isNamed(row) || this.#isPlaced(row)) return false
    if (podref === '') return this.#isLeftOfClaim(row)
    if (!isPod(podref)) return false
    const pod = this.#pods.get(podref)
    if (pod === undefined) return true
    if (this.#isFreed(pod)) return true
    if (!isStarted(pod) || pod.reports === undefined) return false
    const reports = pod.reports.filter(({ address }) => address === row.address)
    if (reports.some(({ ifname }) => ifname === '' || row.ifname === '' || ifname === row.ifname)) return false
    // each interface that is reported has its row in another pool
    return reports.every(({ ifname }) =>
      this.#others(row).some((one) => one.podref === podref && one.ifname === ifname),
    )
  }

  /**
   * Whether a row must not be freed, whichever watches are late. What a watch has not shown may
   * count for more: a claim by its address alone, and a row that has the address in its place.
   */
  isLive(row: Row, seen: Seen): boolean {
    const { stored, podref } = row
    if (isOfOwner(stored)) return true
    // the store can be asked for a claim by its name alone
    if ((seen.claims || 'ipamclaim' in stored) && this.#isNamed(row)) return true
    if (seen.claims && seen.rows && this.#isPlaced(row)) return true
    if (podref === '') return !('ipamclaim' in stored) && !isUid(textOf(stored.id))
    if (!isPod(podref)) return true
    const pod = this.#pods.get(podref)
    if (pod === undefined || this.#isFreed(pod)) return false
    if (!isStarted(pod) || pod.reports === undefined) return true
    const isOwn = ({ address, ifname }: Report) =>
      address === row.address && (ifname === '' || row.ifname === '' || ifname === row.ifname)
    return pod.reports.some(isOwn)
  }

  /** Whether a reservation has to go in the end. */
  isLeft({ name, network, address, podref }: Reservation): boolean {
    const elsewhere: Row[] = []
    for (const row of this.rows.filter((one) => one.address === address)) {
      const other = row.place.network === network ? undefined : this.#reservationOf(row)
      if (other !== undefined && other.name !== name) elsewhere.push(row)
      else if (row.podref === podref || row.podref === '') return false
    }
    const isPlaced = this.#claims.some(
      (claim) =>
        namespaceOf(claim.path) === namespaceOf(podref) &&
        claim.addresses.includes(address) &&
        !elsewhere.some(({ stored }) => Object.values(stored).includes(claim.uid)),
    )
    if (isPlaced || !isPod(podref)) return false
    const pod = this.#pods.get(podref)
    if (pod === undefined || this.#isFreed(pod)) return true
    if (!isStarted(pod) || pod.reports === undefined) return false
    const reports = pod.reports.filter((report) => report.address === address)
    const rows = elsewhere.filter(
      (row) =>
        row.podref === podref &&
        reports.some(({ ifname }) => ifname === '' || row.ifname === '' || ifname === row.ifname),
    )
    return reports.length <= rows.length
  }

  /** Whether a reservation must not be deleted, whichever watches are late. */
  isUsed({ address, podref }: Reservation): boolean {
    if (!isPod(podref)) return true
    const pod = this.#pods.get(podref)
    if (pod === undefined || this.#isFreed(pod)) return false
    if (!isStarted(pod) || pod.reports === undefined) return true
    const isReported = pod.reports.some((report) => report.address === address)
    return isReported && !this.rows.some((row) => row.address === address)
  }

  #isFreed({ phase, isEvicted }: Pod): boolean {
    const { completedPods, evictedPods } = this.#rules
    return (isCompleted(phase) && completedPods === 'free') || (isEvicted && evictedPods === 'free')
  }

  /** Whether a claim holds a row that names it, by uid or else by name. */
  #isNamed({ stored, address }: Row): boolean {
    const uid = textOf(stored.ipamclaimuid)
    return this.#claims.some((claim) => {
      const isNamed = uid === '' ? claim.path === stored.ipamclaim || claim.uid === stored.id : claim.uid === uid
      const ofFamily = claim.addresses.filter((one) => family(one) === family(address))
      return isNamed && (ofFamily.length === 0 || ofFamily.includes(address))
    })
  }

  /** Whether the status of a claim of its namespace has the address, and no other row names it. */
  #isPlaced(row: Row): boolean {
    return this.#claims.some(
      ({ path, uid, addresses }) =>
        namespaceOf(path) === namespaceOf(row.podref) &&
        addresses.includes(row.address) &&
        !this.#others(row).some(({ stored }) => Object.values(stored).includes(uid)),
    )
  }

  /** A row without a Pod goes with its claim, or when its claim has another address. */
  #isLeftOfClaim({ stored }: Row): boolean {
    const path = textOf(stored.ipamclaim)
    if (path !== '' && !this.#claims.some((claim) => claim.path === path)) return true
    return textOf(stored.ipamclaimuid) !== '' || isUid(textOf(stored.id))
  }

  #others({ place, address }: Row): readonly Row[] {
    return this.rows.filter((one) => one.address === address && one.place !== place)
  }

  /** The reservation of a row by the name of its own network. */
  #reservationOf({ place, address, podref }: Row): Reservation | undefined {
    return this.reservations.find(
      (one) => one.network === place.network && one.address === address && (podref === '' || one.podref === podref),
    )
  }
}

function isOfOwner(stored: Row['stored']): boolean {
  return textOf(stored.ipamowneruid) !== '' || (stored.podref === '' && textOf(stored.id).startsWith('owner:'))
}

function isUid(text: string): boolean {
  return /^[0-9a-f]{8}-/u.test(text)
}

function isPod(podref: string): boolean {
  return podref.split('/').length === 2
}

function namespaceOf(path: string): string {
  return path.split('/')[0] ?? ''
}

function isCompleted(phase: string): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}

function isStarted({ phase }: Pod): boolean {
  return phase === 'Running' || isCompleted(phase)
}

function rowsOf({ metadata, spec }: KubeObject): readonly Row[] {
  const place = PLACES.find(({ pool }) => pool === metadata.name) as Place
  const { allocations } = spec as { readonly allocations: { readonly [key: string]: Row['stored'] } }
  return Object.entries(allocations).flatMap(([key, stored]) => {
    const { id, podref, ifname } = stored
    if (!KEY.test(key) || typeof id !== 'string' || typeof podref !== 'string') return []
    return {
      name: `${place.pool} ${key}`,
      place,
      address: addressAt(place, Number(key)),
      podref,
      ifname: textOf(ifname),
      stored,
    }
  })
}

function reservationOf({ metadata: { name }, spec }: KubeObject): Reservation {
  const network = name.startsWith('blue-') ? 'blue' : ''
  const text = network === '' ? name : name.slice('blue-'.length)
  const address = text.includes('.') ? text : text.replaceAll('-', ':')
  return { name, network, address, podref: textOf((spec as { readonly podref?: string }).podref) }
}

function podOf({ metadata, status }: KubeObject): Pod {
  const {
    phase = '',
    conditions = [],
    podIPs = [],
  } = (status ?? {}) as {
    readonly phase?: string
    readonly conditions?: readonly unknown[]
    readonly podIPs?: readonly { readonly ip: string }[]
  }
  const text = metadata.annotations?.['k8s.v1.cni.cncf.io/network-status'] ?? 'none'
  const isEvicted = conditions.length > 0
  if (!text.startsWith('[')) return { phase, isEvicted, reports: undefined }
  const status_ = JSON.parse(text) as { readonly interface: string; readonly ips: readonly string[] }[]
  const reports = status_.flatMap(({ interface: ifname, ips }) => ips.map((ip) => ({ address: byValue(ip), ifname })))
  const own = podIPs.map(({ ip }) => byValue(ip)).filter((ip) => !reports.some(({ address }) => address === ip))
  return { phase, isEvicted, reports: [...reports, ...own.map((address) => ({ address, ifname: '' }))] }
}

function claimOf({ metadata: { namespace, name, uid = '' }, status }: KubeObject): Claim {
  const { ips = [] } = (status ?? {}) as { readonly ips?: readonly string[] }
  return { path: `${namespace}/${name}`, uid, addresses: ips.map((ip) => byValue(ip.replace(/\/.*/u, ''))) }
}

function byValue(text: string): string {
  return Address.format(Address.parse(text))
}
