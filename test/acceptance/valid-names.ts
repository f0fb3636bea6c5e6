import type { KubeObject } from 'ipam-kit/crd/meta'
import { type ConsumerDevice, claimsFor, type DesiredClaim, type Dialect, dialects } from 'ipam-kit/provider/consumer'

// The tests of upstream run beside a client that takes any text for a name: `vsphereVM1`,
// `extraPool0`, a pool without a group. An API server does not, and neither does this library. A
// case with such a name is asked with one that is taken, and the answer has the name of the case.

/**
 * The name itself, or what an API server takes in its place. Different names stay different as far
 * as letters and digits tell them apart.
 */
export function validName(text: string): string {
  const parts = text
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, '-')
    .split('.')
  const trimmed = parts.map((part) => part.replace(/^-+|-+$/g, '')).filter((part) => part !== '')
  return trimmed.join('.') || 'unnamed'
}

/** A dialect that names claims validly, and what the case calls them. */
export interface ValidNaming {
  readonly dialect: Dialect
  readonly devices: readonly ConsumerDevice[]
  /** A text with the names of the case: a name, or a message that has some in it. */
  given(text: string): string
}

type Naming = keyof typeof dialects | Dialect

export function validNaming(naming: Naming, devices: readonly ConsumerDevice[]): ValidNaming {
  const own = typeof naming === 'string' ? dialects[naming] : naming
  const names = new Map<string, string>()
  const valid = (given: string) => {
    const name = validName(given)
    if (name !== given) names.set(name, given)
    return name
  }
  return {
    dialect: { ...own, claimName: (place) => valid(own.claimName(place)) },
    devices: devices.map((device) => ({ ...device, pools: device.pools.map((pool) => validPool(pool, valid)) })),
    given: (text) => [...names].reduce((told, [name, given]) => told.replaceAll(name, given), text),
  }
}

type PoolRequest = ConsumerDevice['pools'][number]

function validPool(pool: PoolRequest, valid: (name: string) => string): PoolRequest {
  return { ...pool, apiGroup: pool.apiGroup || 'group', kind: pool.kind || 'Pool', name: valid(pool.name) }
}

/**
 * The claims of an owner with valid names, each for the pool that the case names, whatever that is.
 */
export function wantedClaims(
  owner: KubeObject,
  devices: readonly ConsumerDevice[],
  naming: Naming,
): readonly DesiredClaim[] {
  const { dialect, devices: valid } = validNaming(naming, devices)
  return claimsFor(owner, valid, dialect).map((claim) => {
    const { apiGroup, kind, name } = devices[claim.deviceIndex]?.pools[claim.poolIndex] ?? claim.poolRef
    const group = apiGroup === '' ? (dialect.defaultPoolGroup ?? '') : claim.poolRef.apiGroup
    return { ...claim, poolRef: { apiGroup: group, kind, name } }
  })
}
