import { Address } from 'ipam-kit/cidr'
import { planUpgrade, type UpgradePlan, type UpgradePool } from 'ipam-kit/provider/whereabouts-blocks'
import { joinSections, lines, section } from '../demo/text.js'
import type { Cluster } from './cluster.js'
import type { Exit, Place } from './command.js'
import { unreadIn } from './networks.js'

/** What the flags of `upgrade` say. */
export interface UpgradeFlags {
  readonly pool: string | undefined
  readonly output: 'text' | 'json'
  /** Definitions that are not of whereabouts, though they cannot be read. */
  readonly skipped: readonly string[]
  readonly leaseHolder: string | undefined
}

export function planOf({ networks, pools, reservations, pods }: Cluster): UpgradePlan {
  const configs = networks.networks.map(({ config }) => config)
  return planUpgrade({ networks: configs, pools, reservations, pods: [...pods.values()] })
}

/** Prints what an upgrade has to do. @returns 3 if a pool is not ready, or no pool has the name */
export function showPlan(place: Place, { pool, output, skipped }: UpgradeFlags, cluster: Cluster): Exit {
  const pools = planOf(cluster).pools.filter(({ name }) => pool === undefined || name === pool)
  const problems = unreadIn(cluster.networks, skipped)
  place.print(output === 'json' ? toJson({ pools, problems }) : toText(pools, problems))
  const isReady = problems.length === 0 && pools.every((each) => each.isReady)
  return isReady && (pool === undefined || pools.length > 0) ? 0 : 3
}

/** With addresses as texts. */
export function toJson(plan: object): string {
  const isAddress = (key: string, value: unknown) => key === 'address' && typeof value === 'object'
  return JSON.stringify(plan, (key, value) => (isAddress(key, value) ? Address.format(value) : value), 2)
}

function toText(pools: readonly UpgradePool[], problems: readonly string[]): string {
  const sections = pools.map((pool) => section(titleOf(pool), formatPool(pool)).trimEnd())
  const others = problems.length === 0 ? '' : section('Problems', lines(problems, Number.POSITIVE_INFINITY))
  return joinSections([...sections, others]) || 'There is no pool of whereabouts.'
}

function titleOf({ name, isReady, rows }: UpgradePool): string {
  return `IPPool ${name}: ${isReady ? 'ready' : 'not ready'}, ${rows.length} rows to copy`
}

function formatPool({ domain, targets, oddities }: UpgradePool): string {
  const about = targets.map((target) => `IPPool ${target} in the domain ${domain}`)
  const odd = oddities.map(({ kind, isObstacle, key, address, problem }) => {
    const of = address === undefined ? (key === undefined ? '' : `the row ${key}: `) : `${Address.format(address)}: `
    return `${isObstacle ? 'obstacle' : 'note'} ${kind}: ${of}${problem}`
  })
  return lines([...about, ...odd], Number.POSITIVE_INFINITY)
}
