import { Address, Prefix } from '../../../cidr/index.js'
import { SUBNET } from './answers.js'
import type { NeutronCall } from './call.js'

/** How long the subnets of a network are cached, in milliseconds. */
const KEPT_MS = 600_000
const MAX_NETWORKS = 256

interface Known {
  /** Empty: these credentials cannot read them. */
  readonly prefixes: readonly Prefix[]
  readonly atMs: number
}

/**
 * The subnets of networks, as far as the credentials can read them: an address of a network has to
 * be in one.
 */
export class SubnetCache {
  readonly #known = new Map<string, Known>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /**
   * Returns the problems of addresses: they are not addresses, or in none of the subnets of the
   * network.
   */
  async check(call: NeutronCall, network: string, addresses: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const beganAtMs = this.#now()
    let known = await this.#read(call, network, beganAtMs - KEPT_MS)
    let problems = problemsOf(addresses, known, network)
    // a subnet may have been added since then
    if (problems.size > 0 && known.atMs < beganAtMs) {
      known = await this.#read(call, network, beganAtMs)
      problems = problemsOf(addresses, known, network)
    }
    return problems
  }

  async #read(call: NeutronCall, network: string, notBeforeMs: number): Promise<Known> {
    const { authUrl, auth } = await call.login()
    const key = JSON.stringify([authUrl, auth, network])
    const known = this.#known.get(key)
    if (known !== undefined && known.atMs >= notBeforeMs) return known
    const subnets = await call.answer(false, () => call.list('subnets', { network_id: network }, SUBNET))
    // subnets that cannot be read are not checked: a failure would block all addresses
    const cidrs = subnets.ok ? subnets.value.map(({ cidr }) => Prefix.safeParse(cidr)) : []
    const fresh = { prefixes: cidrs.flatMap((read) => (read.ok ? [read.value] : [])), atMs: this.#now() }
    this.#known.delete(key)
    this.#known.set(key, fresh)
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MAX_NETWORKS) break
      this.#known.delete(oldest)
    }
    return fresh
  }
}

function problemsOf(addresses: readonly string[], { prefixes }: Known, network: string): ReadonlyMap<string, string> {
  const problems = new Map<string, string>()
  for (const text of addresses) {
    const address = Address.safeParse(text)
    if (!address.ok) problems.set(text, 'is not an address')
    else if (prefixes.length > 0 && !prefixes.some((prefix) => Prefix.contains(prefix, address.value))) {
      problems.set(text, `is in no subnet of network ${network}`)
    }
  }
  return problems
}
