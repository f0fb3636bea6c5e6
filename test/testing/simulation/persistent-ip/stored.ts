import { type KubeObject, refOf } from 'ipam-kit/crd/meta'
import type { Change } from 'ipam-kit/plan'
import { DEFAULT_NETWORK, hasEnded, NETWORK_OF, NETWORKS, PRIMARY, PRIMARY_CLAIM } from './objects.js'

/** An address that a claim or a Pod has. */
export interface Held extends Pair {
  readonly holder: KubeObject
  /** The number of the change with which it came. */
  readonly since: number
  /** Whether a controller has written it. */
  readonly isOurs: boolean
  /** Whether a tenant has written it in place of other addresses. Then it does not count. */
  readonly isEdit: boolean
}

export interface Attachment {
  /** `namespace/name` of its definition. */
  readonly nad: string
  /** Its name in the annotation of the Pod with its addresses. */
  readonly key: string
  readonly claim: string | undefined
  /** What it asks for. */
  readonly ips: readonly string[]
  readonly mac: string | undefined
}

/** A change of an object that a controller has made. */
export interface Write {
  readonly before: KubeObject | undefined
  readonly now: KubeObject | undefined
  readonly name: string
  readonly by: { readonly name: string; readonly knows: number }
}

/** The objects as they are stored, for the rules. */
export class Stored {
  readonly objects = new Map<string, KubeObject>()
  /** By holder and address: since when, and of whom. */
  readonly #since = new Map<string, Pick<Held, 'since' | 'isOurs' | 'isEdit'>>()
  /** By the uid of a claim: the addresses that its status has had. */
  readonly #versions = new Map<string, Set<string>>()
  /** By the uid of a Pod: the claims that it names, and since when. */
  readonly #named = new Map<string, ReadonlyMap<string, number>>()
  /** By the uid of a Pod and an interface: since when it has its MAC address. */
  readonly #macs = new Map<string, number>()
  /** By uid: when the object was created, and when its deletion began. */
  readonly createdAt = new Map<string, number>()
  readonly deletedAt = new Map<string, number>()
  /** By `namespace/name` of a Pod: when it had ended. */
  readonly endedAt = new Map<string, number>()
  /** Each claim that has ever had an address: by network and address. */
  readonly past = new Map<string, Map<string, KubeObject>>()
  /** The networks that have ever let Pods have addresses beside their claims. */
  readonly ignoring = new Set<string>()
  count = 0

  /** @returns the object before the change */
  apply(change: Change, isOurs: boolean): { readonly before?: KubeObject | undefined; readonly now?: KubeObject } {
    const at = this.count++
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    const key = keyOf(ref)
    const before = this.objects.get(key)
    if (ref.kind === 'Pod') {
      const name = `${ref.namespace}/${ref.name}`
      const hasGone = change.kind !== 'present' || hasEnded(change.object)
      if (!hasGone) this.endedAt.delete(name)
      else if (!this.endedAt.has(name)) this.endedAt.set(name, at)
    }
    if (change.kind !== 'present') {
      this.objects.delete(key)
      return { before }
    }
    const now = change.object
    const { uid = '', deletionTimestamp } = now.metadata
    if (!this.createdAt.has(uid)) this.createdAt.set(uid, at)
    if (deletionTimestamp !== undefined && !this.deletedAt.has(uid)) this.deletedAt.set(uid, at)
    this.objects.set(key, now)
    if (before?.kind === 'IPAMClaim') {
      const versions = this.#versions.get(before.metadata.uid ?? '') ?? new Set()
      this.#versions.set(before.metadata.uid ?? '', versions.add(ipsOf(before).join()))
    }
    if (
      now.kind === 'NetworkAttachmentDefinition' &&
      /"allowPersistentIPs":false/u.test(JSON.stringify(now.spec).replaceAll('\\', ''))
    )
      this.ignoring.add(NETWORK_OF[`${now.metadata.namespace}/${now.metadata.name}`] ?? '')
    this.#note(now, before, at, isOurs)
    return { before, now }
  }

  /** Whether the status of a claim has had these addresses before. */
  hasHad({ metadata: { uid = '' } }: KubeObject, ips: readonly string[]): boolean {
    return ips.length > 0 && this.#versions.get(uid)?.has(ips.join()) === true
  }

  /** Since when a Pod has the MAC address of an interface. */
  macSince({ metadata: { uid } }: KubeObject, key: string): number {
    return this.#macs.get(`${uid} ${key}`) ?? Number.POSITIVE_INFINITY
  }

  /** Since when a Pod names a claim. Infinity: it does not. */
  namedSince({ metadata: { uid = '' } }: KubeObject, claim: string): number {
    return this.#named.get(uid)?.get(claim) ?? Number.POSITIVE_INFINITY
  }

  #note(now: KubeObject, before: KubeObject | undefined, since: number, isOurs: boolean): void {
    if (now.kind === 'Pod') {
      const [names, known] = [attachmentsOf(now) ?? [], this.#named.get(now.metadata.uid ?? '')]
      const named = names.flatMap(({ claim }) =>
        claim === undefined ? [] : [[claim, known?.get(claim) ?? since] as const],
      )
      this.#named.set(now.metadata.uid ?? '', new Map(named))
      for (const key of macsOf(now).keys()) {
        const text = `${now.metadata.uid} ${key}`
        if (!this.#macs.has(text)) this.#macs.set(text, since)
      }
    }
    const had = new Set(before?.metadata.uid === now.metadata.uid ? pairsOf(before).map(textOf) : [])
    const isEdit = !isOurs && now.kind === 'IPAMClaim' && had.size > 0
    for (const pair of pairsOf(now)) {
      const text = textOf(pair)
      if (!had.has(text)) this.#since.set(`${now.metadata.uid} ${text}`, { since, isOurs, isEdit })
      if (now.kind !== 'IPAMClaim') continue
      const claims = this.past.get(text) ?? new Map<string, KubeObject>()
      this.past.set(text, claims.set(now.metadata.uid ?? '', now))
    }
  }

  get(kind: string, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.objects.get(keyOf({ kind, namespace, name }))
  }

  all(kind: string): readonly KubeObject[] {
    return [...this.objects.values()].filter((object) => object.kind === kind)
  }

  exists(uid: string): boolean {
    return [...this.objects.values()].some(({ metadata }) => metadata.uid === uid)
  }

  /** The addresses of all claims, and of all Pods that have not ended. */
  held(): readonly Held[] {
    return [...this.all('IPAMClaim'), ...this.all('Pod')].flatMap((holder) =>
      pairsOf(holder).map((pair) => ({
        ...pair,
        holder,
        ...(this.#since.get(`${holder.metadata.uid} ${textOf(pair)}`) ?? { since: 0, isOurs: false, isEdit: false }),
      })),
    )
  }
}

export interface Pair {
  readonly network: string
  readonly address: string
  /** The definition by which a Pod has it: `namespace/name`. */
  readonly nad?: string | undefined
}

function textOf({ network, address }: Pair): string {
  return `${network} ${address}`
}

/** The addresses of a claim or of a Pod, with their networks. */
export function pairsOf(object: KubeObject | undefined): readonly Pair[] {
  if (object?.kind === 'IPAMClaim') {
    const { network = '' } = (object.spec ?? {}) as { readonly network?: string }
    return readable(ipsOf(object)).map((address) => ({ network, address }))
  }
  if (object?.kind !== 'Pod' || hasEnded(object)) return []
  return [...entriesOf(object)].flatMap(([key, ips]) =>
    ips.map((ip) => ({ network: networkOf(key, ip), address: addressOf(ip), nad: nadOf(key) })),
  )
}

/** The network of an address of a Pod. Its definition may be that of another network by now. */
export function networkOf(key: string, ip: string | undefined): string {
  return ip?.startsWith('10.9.') === true ? 'other' : (NETWORK_OF[nadOf(key)] ?? key)
}

function nadOf(key: string): string {
  return key.split('/', 2).join('/')
}

/** The texts of the status of a claim. */
export function ipsOf(claim: KubeObject): readonly string[] {
  const { ips } = (claim.status ?? {}) as { readonly ips?: readonly string[] | null }
  return ips ?? []
}

/** What the condition of a claim says of its addresses. */
export function allocatedOf({ status }: KubeObject): { readonly status: string; readonly reason: string } | undefined {
  const { conditions = [] } = (status ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[]
  }
  return conditions.find(({ type }) => type === 'IPsAllocated')
}

/** The condition of a claim that cannot have its addresses says why. */
export function refusedIn(claim: KubeObject, reason: string): string | undefined {
  const found = allocatedOf(claim)
  return found?.status === 'False' && found.reason === reason ? reason : undefined
}

/** The addresses of a Pod, by interface. */
export function entriesOf({ metadata }: KubeObject): ReadonlyMap<string, readonly string[]> {
  return new Map(Object.entries(networksIn(metadata)).map(([key, { ip_addresses: ips = [] }]) => [key, ips]))
}

/** The MAC addresses of a Pod, by interface. */
export function macsOf({ metadata }: KubeObject): ReadonlyMap<string, string | undefined> {
  return new Map(Object.entries(networksIn(metadata)).map(([key, { mac_address: mac }]) => [key, mac]))
}

function networksIn({ annotations }: KubeObject['metadata']) {
  const text = annotations?.['k8s.ovn.org/pod-networks']
  return JSON.parse(text ?? '{}') as {
    readonly [key: string]: { readonly ip_addresses?: readonly string[]; readonly mac_address?: string }
  }
}

export function addressOf(ip: string): string {
  return ip.split('/')[0] as string
}

/** A text of a status that is an address. */
export const READABLE = /^[0-9a-f.:]+\/\d+$/u

/** The addresses of texts, each once. */
function readable(ips: readonly string[]): readonly string[] {
  return [...new Set(ips.filter((ip) => READABLE.test(ip)).map(addressOf))]
}

/** The interfaces of a Pod. `undefined`: they cannot be read. */
export function attachmentsOf({ metadata }: KubeObject): readonly Attachment[] | undefined {
  const [elements, [primary]] = [NETWORKS, DEFAULT_NETWORK].map(
    (name) => JSON.parse(metadata.annotations?.[name] ?? '[]') as readonly Element[],
  ) as [readonly Element[], readonly Element[]]
  if (elements.some((element) => typeof element.interface === 'number')) return undefined
  const counts = new Map<string, number>()
  const named = elements.map((element) => {
    const { ips = [], mac, 'ipam-claim-reference': claim } = element
    const nad = `${element.namespace ?? metadata.namespace}/${element.name}`
    const count = counts.get(nad) ?? 0
    counts.set(nad, count + 1)
    return { nad, key: count === 0 ? nad : `${nad}/${count}`, claim, ips, mac }
  })
  if (metadata.namespace !== 'ns2') return named
  const { ips = [], mac, 'ipam-claim-reference': own = metadata.annotations?.[PRIMARY_CLAIM] } = primary ?? {}
  return [...named, { nad: PRIMARY, key: PRIMARY, claim: own, ips, mac }]
}

/** An element of a network selection. */
interface Element {
  readonly name: string
  readonly namespace?: string
  readonly interface?: unknown
  readonly ips?: readonly string[]
  readonly mac?: string
  readonly 'ipam-claim-reference'?: string
}

/** Whether a Pod is one of those that a claim is for. */
export function mayUse(pod: KubeObject, claim: KubeObject): boolean {
  if (pod.metadata.namespace !== claim.metadata.namespace) return false
  const { ownerReferences: owners = [], labels, annotations } = claim.metadata
  const own = pod.metadata.ownerReferences ?? []
  const [named, wanted] = [pod.metadata.annotations, annotations].map(
    (all) => all?.['ipam-kit.dev/claim-owner']?.split(',') ?? [],
  ) as [string[], string[]]
  const isOf = (vm: string | undefined) =>
    own.some(({ kind, name }) => kind === 'VirtualMachineInstance' && name === vm)
  const vm = labels?.['kubevirt.io/vm']
  if (owners.length > 0) {
    return owners.some(({ uid, kind, name }) => {
      const isVM = kind === 'VirtualMachine' && isOf(name)
      return own.some((each) => each.uid === uid) || isVM || named.includes(`${kind}.apps/${name}`)
    })
  }
  // an orphan deletion has removed its owners
  return (vm === undefined && wanted.length === 0) || isOf(vm) || wanted.some((each) => named.includes(each))
}

/** Whether a claim and a Pod are one holder. */
export function isUser(pod: KubeObject, claim: KubeObject): boolean {
  if (!mayUse(pod, claim)) return false
  const names = attachmentsOf(pod)?.some((each) => each.claim === claim.metadata.name) === true
  return names || (claim.metadata.ownerReferences ?? []).length > 0
}

function keyOf({
  kind,
  namespace,
  name,
}: {
  readonly kind: string
  readonly namespace?: string | undefined
  readonly name: string
}) {
  return `${kind} ${namespace}/${name}`
}
