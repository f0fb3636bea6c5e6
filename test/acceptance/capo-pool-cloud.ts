import { Address, Prefix } from 'ipam-kit/cidr'
import { FakeCloud } from 'ipam-kit/testing'

/**
 * A cloud that gives the addresses of a case first, each when a call has got it. Its lists have what
 * the case has twice, twice.
 */
export class CaseCloud extends FakeCloud {
  readonly #next: string[]
  /** How often a list has an address; left out: once. */
  readonly times = new Map<string, number>()

  constructor(now: () => number, next: readonly string[]) {
    super({ now })
    this.#next = [...next]
  }

  override create(...[wanted, trouble]: Parameters<FakeCloud['create']>): ReturnType<FakeCloud['create']> {
    const created = super.create({ ...wanted, address: this.#next[0] ?? wanted.address ?? null }, trouble)
    this.#next.shift()
    return created
  }

  override listed(wanted: Parameters<FakeCloud['listed']>[0]): ReturnType<FakeCloud['listed']> {
    const all = super.listed(wanted)
    const most = Math.max(1, ...this.times.values())
    return Array.from({ length: most }, (_, nth) =>
      all.filter(({ address }) => nth < (this.times.get(address) ?? 1)),
    ).flat()
  }
}

/**
 * The prefixes of a network that has these addresses, whatever they are. New ones come from the
 * first.
 */
export function networkOf(addresses: readonly string[]): readonly string[] {
  const around = addresses.flatMap((text) => {
    const address = Address.safeParse(text)
    if (!address.ok) return []
    return [Prefix.format(Prefix.masked(Prefix.of(address.value, address.value.family === 6 ? 64 : 24)))]
  })
  return [...new Set(['203.0.113.0/24', '2001:db8::/64', ...around])]
}

/** What a cloud can have of a list: addresses, each once. */
export function inCloud<T extends { readonly ip: string }>(outside: readonly T[]): readonly T[] {
  const byAddress = new Map<string, T>()
  for (const item of outside) {
    const address = Address.safeParse(item.ip)
    const key = address.ok ? Address.format(address.value) : undefined
    if (key !== undefined && !byAddress.has(key)) byAddress.set(key, item)
  }
  return [...byAddress.values()]
}

/** Whether a call is refused because the quota of the project is used up. */
export function isQuota(fault: string | null | undefined): boolean {
  return fault != null && /quota/i.test(fault)
}
