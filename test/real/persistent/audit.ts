import assert from 'node:assert/strict'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Client } from '../controller/client.js'
import { NETWORK_OF } from './ground.js'

// It reads objects as JSON, without the models and the planners of the library.

const ALL_CLAIMS = '/apis/k8s.cni.cncf.io/v1alpha1/ipamclaims'
const ALL_PODS = '/api/v1/pods'
/** Label of claims whose status the test has edited. */
export const EDITED = 'test.ipam-kit.dev/edited'

/** One address of a network that an object names. */
interface Named {
  readonly network: string
  readonly address: string
  /** The claim of a Pod in this network: `namespace/name`. */
  readonly claim?: string | undefined
}

/** Addresses that an object had when it had any first, and since which version of the cluster. */
interface First {
  readonly name: string
  readonly addresses: string
  readonly version: bigint
}

/** Watches claims and Pods: each address has one holder, and what has an address keeps it. */
export class Audit {
  readonly #client: Client
  readonly #claims = new Map<string, First>()
  readonly #pods = new Map<string, ReadonlyMap<string, First>>()
  /** The claims that exist, by each address that they have. */
  readonly #holders = new Map<string, Set<string>>()
  readonly #faults: string[] = []
  #ends: (() => void)[] = []
  changes = 0

  constructor(client: Client) {
    this.#client = client
  }

  async start(): Promise<void> {
    const ended = () => void this.#faults.push('a watch of the audit has ended')
    this.#ends = [
      await this.#client.watch(ALL_CLAIMS, (type, object) => this.#claim(type, object), ended),
      await this.#client.watch(ALL_PODS, (_, object) => this.#pod(object), ended),
    ]
  }

  stop(): void {
    for (const end of this.#ends) end()
  }

  /** @returns how many addresses are in use */
  async check(): Promise<number> {
    const [claims, pods] = [await this.#client.list(ALL_CLAIMS), await this.#client.list(ALL_PODS)]
    const own = new Map(claims.map((claim) => [nameOf(claim), new Set(addressesOfClaim(claim).map(keyOf))]))
    const holders = new Map<string, Set<string>>()
    const hold = (named: Named, holder: string) => {
      holders.set(keyOf(named), (holders.get(keyOf(named)) ?? new Set()).add(holder))
    }
    for (const claim of claims.filter(isWatched)) {
      for (const named of addressesOfClaim(claim)) hold(named, `claim ${nameOf(claim)}`)
    }
    for (const pod of pods.filter((each) => !hasEnded(each))) {
      for (const named of addressesOfPod(pod)) {
        const isOfClaim = named.claim !== undefined && own.get(named.claim)?.has(keyOf(named)) === true
        hold(named, isOfClaim ? `claim ${named.claim}` : `Pod ${nameOf(pod)}`)
      }
    }
    const twice = [...holders].filter(([, each]) => each.size > 1)
    const faults = [
      ...this.#faults,
      ...twice.map(([key, each]) => `${key} is held by ${[...each].join(' and ')}`),
      ...this.#unordered(),
    ]
    assert.deepEqual(faults, [])
    return holders.size
  }

  #claim(type: string, object: KubeObject): void {
    this.changes++
    const { uid = '' } = object.metadata
    if (!isWatched(object)) return
    const named = addressesOfClaim(object)
    const before = this.#claims.get(uid)
    const addresses = named.map(keyOf).sort().join(' ')
    if (before === undefined && addresses !== '') {
      this.#claims.set(uid, { name: nameOf(object), addresses, version: versionOf(object) })
    }
    if (before !== undefined && before.addresses !== addresses) {
      this.#faults.push(`IPAMClaim ${nameOf(object)} had ${before.addresses} and has ${addresses}`)
    }
    for (const key of named.map(keyOf)) {
      const holders = this.#holders.get(key) ?? new Set()
      if (type === 'DELETED') holders.delete(uid)
      else this.#holders.set(key, holders.add(uid))
      if (holders.size > 1) this.#faults.push(`${key} is in two claims, one of which is ${nameOf(object)}`)
    }
  }

  #pod(object: KubeObject): void {
    this.changes++
    const { uid = '' } = object.metadata
    const before = this.#pods.get(uid) ?? new Map<string, First>()
    const now = new Map<string, string[]>()
    for (const named of addressesOfPod(object)) {
      const id = `${named.network} ${named.claim ?? ''}`
      now.set(id, [...(now.get(id) ?? []), keyOf(named)])
    }
    const seen = new Map(before)
    for (const [id, keys] of now) {
      const addresses = keys.sort().join(' ')
      const first = before.get(id)
      if (first === undefined) seen.set(id, { name: nameOf(object), addresses, version: versionOf(object) })
      else if (first.addresses !== addresses) {
        this.#faults.push(`Pod ${nameOf(object)} had ${first.addresses} and has ${addresses}`)
      }
    }
    for (const [id, { addresses }] of before) {
      if (!now.has(id)) this.#faults.push(`Pod ${nameOf(object)} has lost ${addresses}`)
    }
    this.#pods.set(uid, seen)
  }

  /** Pods that had the addresses of a claim before the claim had them. */
  #unordered(): readonly string[] {
    const versions = new Map<string, bigint>()
    for (const { name, addresses, version } of this.#claims.values()) {
      const key = `${name} ${addresses}`
      const known = versions.get(key)
      if (known === undefined || version < known) versions.set(key, version)
    }
    return [...this.#pods.values()].flatMap((networks) =>
      [...networks].flatMap(([id, { name, addresses, version }]) => {
        const claim = id.slice(id.indexOf(' ') + 1)
        const since = versions.get(`${claim} ${addresses}`)
        return since === undefined || since < version ? [] : [`Pod ${name} had ${addresses} before IPAMClaim ${claim}`]
      }),
    )
  }
}

function keyOf({ network, address }: Named): string {
  return `${network} ${address}`
}

function nameOf({ metadata: { namespace = '', name } }: KubeObject): string {
  return `${namespace}/${name}`
}

function versionOf({ metadata }: KubeObject): bigint {
  return BigInt(metadata.resourceVersion ?? 0)
}

function isWatched({ metadata }: KubeObject): boolean {
  return metadata.labels?.[EDITED] === undefined
}

function hasEnded({ status }: KubeObject): boolean {
  const { phase } = (status ?? {}) as { readonly phase?: string }
  return phase === 'Succeeded' || phase === 'Failed'
}

/** The addresses in the status of a claim. */
export function addressesOfClaim({ spec, status }: KubeObject): readonly Named[] {
  const { network } = spec as { readonly network: string }
  const { ips = [] } = (status ?? {}) as { readonly ips?: readonly string[] }
  return ips.map((text) => ({ network, address: text.replace(/\/.*/, '') }))
}

/** The addresses in the annotation of a Pod, with the claims of its network selection. */
export function addressesOfPod({ metadata }: KubeObject): readonly Named[] {
  const { annotations = {}, namespace = '' } = metadata
  const selection: readonly Selected[] = JSON.parse(annotations['k8s.v1.cni.cncf.io/networks'] ?? '[]')
  const claims = new Map(
    selection.map((each) => [`${each.namespace ?? namespace}/${each.name}`, each['ipam-claim-reference']]),
  )
  const entries: Record<string, Given> = JSON.parse(annotations['k8s.ovn.org/pod-networks'] ?? '{}')
  return Object.entries(entries).flatMap(([nad, { ip_addresses: addresses = [] }]) => {
    const claim = claims.get(nad)
    return addresses.map((text) => ({
      network: NETWORK_OF.get(nad) ?? nad,
      address: text.replace(/\/.*/, ''),
      claim: claim === undefined ? undefined : `${namespace}/${claim}`,
    }))
  })
}

interface Selected {
  readonly name: string
  readonly namespace?: string
  readonly 'ipam-claim-reference'?: string
}

interface Given {
  readonly ip_addresses?: readonly string[]
}
