import type { UpgradeOddity, UpgradePlan } from 'ipam-kit/provider/whereabouts-blocks'
import { NETWORK_STATUS } from '../whereabouts/network-status.js'
import { addressesOf, type Network, poolNameOf, reservationNameOf } from '../whereabouts/networks.js'
import type { Row } from '../whereabouts/stored.js'
import { oldPoolsOf } from './networks.js'
import type { UpgradeRules } from './rules.js'

type Expected = Pick<UpgradeOddity, 'kind'> & { readonly key?: string; readonly name?: string }

const UID = /^[0-9a-f]{8}-[0-9a-f]{4}-/u

/** What is unusual about the pools, read without the library, and missing in its report. */
export function missingOddities(
  plan: UpgradePlan,
  rules: UpgradeRules,
  networks: readonly Network[],
): readonly string[] {
  return oldPoolsOf(networks).flatMap((pool) => {
    const report = plan.pools.find(({ name }) => name === pool)
    if (report === undefined) return rules.stored.rows(pool).length > 0 ? [`the report has no pool ${pool}`] : []
    const missing = expected(pool, rules, networks).filter(({ kind, key }) => {
      return !report.oddities.some((each) => each.kind === kind && (key === undefined || each.key === key))
    })
    return missing.map(
      ({ kind, key }) =>
        `the report of ${pool} lacks ${kind} of ${key ?? 'the pool'}: ${JSON.stringify(report.oddities)}`,
    )
  })
}

function expected(pool: string, rules: UpgradeRules, networks: readonly Network[]): readonly Expected[] {
  const own = networks.filter((network) => network.ranges.some((range) => poolNameOf(network, range) === pool))
  const rows = rules.stored.rows(pool)
  const found: Expected[] = rows.flatMap((row) => ofRow(row, rules, own))
  if (own.some(({ name }) => name === 'wide') || networks.some(({ name }) => name === 'wide'))
    found.push({ kind: 'overlap' })
  const checked = own.filter(({ overlap }) => overlap)
  const ranges = checked.flatMap((network) => network.ranges.map((range) => ({ network, range })))
  const ofPool = ranges.filter(({ network, range }) => poolNameOf(network, range) === pool)
  for (const { name } of rules.stored.reservations.values()) {
    const isOfPool = ofPool.some(({ network, range }) =>
      addressesOf(network, range, 'upstream').some((each) => reservationNameOf(network, each) === name),
    )
    const isAlone = !rows.some((row) => checked.some((network) => reservationNameOf(network, row.address) === name))
    if (isOfPool && isAlone) found.push({ kind: 'reservation-alone', name })
  }
  return found
}

function ofRow(row: Row, { stored }: UpgradeRules, own: readonly Network[]): readonly Expected[] {
  const { key, podref, address } = row
  // a row that names a claim, by its uid or its name, also one that does not exist any more
  if (row.texts.some((text) => UID.test(text) || text.includes('claim-'))) return [{ kind: 'claim', key }]
  const found: Expected[] = []
  const pod = stored.pods.get(podref.split('/')[1] ?? '')
  const text = pod?.metadata.annotations?.[NETWORK_STATUS]
  if (pod === undefined) found.push({ kind: 'no-pod', key })
  else if (!text?.endsWith(']') || !text.includes(`"${address}"`)) found.push({ kind: 'unreported', key })
  const [network] = own
  if (network === undefined || !network.overlap) return found
  const reservation = stored.reservations.get(reservationNameOf(network, address))
  if (reservation === undefined) found.push({ kind: 'no-reservation', key })
  else if (reservation.podref !== podref) found.push({ kind: 'reserved-for-other', key })
  return found
}
