import { Address } from 'ipam-kit/cidr'
import { IPPool as BlockPool } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { readRows, IPPool as WhereaboutsPool } from 'ipam-kit/crd/whereabouts'
import { planUpgrade, type UpgradePool } from 'ipam-kit/provider/whereabouts-blocks'
import { table } from 'ipam-kit/render'
import { cell, joinSections, lines, section } from '../demo/text.js'
import { FlagError } from '../program/flags.js'
import { type BlockRow, type Cluster, isThere, kindsOf, readCluster } from './cluster.js'
import { type Command, textOf, wordsOf } from './command.js'
import { unreadIn } from './networks.js'

/** A row of a pool of whereabouts, or of a block. */
export interface RowView {
  readonly address: string
  /** `namespace/name`. */
  readonly pod: string
  readonly interface: string | null
  readonly container: string | null
  /** What is unusual about the row; `in use`: nothing. */
  readonly state: string
}

export interface PoolView {
  /** `whereabouts`, or the name of the kind of blocks. */
  readonly kind: 'whereabouts' | 'ipam-kit'
  readonly name: string
  /** The value of the annotation of the upgrade. */
  readonly phase: string | null
  readonly rows: readonly RowView[]
  /** What is unusual, and is not about a row. */
  readonly oddities: readonly string[]
}

/** What `show` prints, as JSON with `--output json`. */
export interface Report {
  readonly pools: readonly PoolView[]
  /** What is unusual, and is not about one of the pools. */
  readonly problems: readonly string[]
}

/** `show`: the pools of whereabouts and of blocks, their rows, and what is unusual about them. */
export const show: Command = {
  flags: {
    pool: { type: 'string', about: 'the pool of whereabouts or of blocks. Left out: all' },
    output: { type: 'string', default: 'text', about: '`text` or `json`' },
  },
  kinds: kindsOf,
  read(words, values) {
    wordsOf('show', words, [])
    const [pool, output = 'text'] = [textOf(values, 'pool'), textOf(values, 'output')]
    if (output !== 'text' && output !== 'json') throw new FlagError(`--output (${output}) is text or json`)
    return async (place) => {
      const all = reportOf(await readCluster(place))
      const pools = all.pools.filter(({ name }) => pool === undefined || name === pool)
      const report = { ...all, pools }
      place.print(output === 'json' ? JSON.stringify(report, null, 2) : formatReport(report))
      if (pool === undefined || pools.length > 0) return 0
      return 3
    }
  },
}

export function reportOf(cluster: Cluster): Report {
  const { networks, pools, reservations, blockRows, pods } = cluster
  const plan = planUpgrade({
    networks: networks.networks.map(({ config }) => config),
    pools,
    reservations,
    pods: [...pods.values()],
  })
  const old = pools.map((object) =>
    oldPool(
      object,
      plan.pools.find(({ name }) => name === object.metadata.name),
    ),
  )
  const names = [...new Set(blockRows.map(({ pool }) => pool))].sort()
  const own = names.map((name) => blockPool(name, blockRows, cluster))
  const alone = plan.otherReservations.map((name) => `the reservation ${name} is of no pool`)
  return { pools: [...old, ...own], problems: [...unreadIn(networks), ...alone] }
}

function oldPool(object: KubeObject, plan: UpgradePool | undefined): PoolView {
  const { name, annotations } = object.metadata
  const read = WhereaboutsPool.safeParse(object)
  const rows = read.ok ? readRows(read.value).rows : []
  const { oddities = [] } = plan ?? {}
  const keys = new Set(rows.map(({ key }) => key))
  return {
    kind: 'whereabouts',
    name,
    phase: annotations?.['ipam-kit.dev/upgrade'] ?? null,
    rows: [...rows]
      .sort((left, right) => Address.compare(left.address, right.address))
      .map(({ key, address, podref, id, ifname }) => {
        const problems = oddities.filter((oddity) => oddity.key === key).map(({ problem }) => problem)
        const state = problems.join('; ') || 'in use'
        return { address: Address.format(address), pod: podref, interface: ifname || null, container: id, state }
      }),
    oddities: oddities
      .filter(({ key }) => key === undefined || !keys.has(key))
      .map(({ key, address, problem }) => {
        const about = address === undefined ? key && `the row ${key}` : Address.format(address)
        return about === undefined ? problem : `${about}: ${problem}`
      }),
  }
}

function blockPool(name: string, rows: readonly BlockRow[], { pods }: Cluster): PoolView {
  const own = rows.filter(({ pool }) => pool === name)
  return {
    kind: 'ipam-kit',
    name,
    phase: null,
    rows: own
      .sort((left, right) => Address.compare(left.address, right.address))
      .map(({ address, owner, kind, uid, interface: ifname, container }) => ({
        address: Address.format(address),
        pod: owner,
        interface: ifname ?? null,
        container: container ?? null,
        state: kind === 'Pod' && !isThere(pods.get(owner), uid) ? `the Pod ${owner} does not exist` : 'in use',
      })),
    oddities: [],
  }
}

function formatReport({ pools, problems }: Report): string {
  const sections = pools.map((pool) => section(titleOf(pool), joinSections([formatRows(pool), formatOddities(pool)])))
  const others = problems.length === 0 ? '' : section('Problems', lines(problems, Number.POSITIVE_INFINITY))
  return joinSections([...sections, others]) || 'No address is in use.'
}

function titleOf({ kind, name, phase, rows }: PoolView): string {
  const of = kind === 'whereabouts' ? 'whereabouts' : BlockPool.info.apiVersion
  return `IPPool ${name} of ${of}: ${rows.length} rows${phase === null ? '' : `, phase ${cell(phase)}`}`
}

function formatRows({ rows }: PoolView): string {
  const cells = rows.map((row) => [row.address, row.pod, row.interface, row.container, row.state].map(cell))
  return cells.length === 0 ? '' : table(['ADDRESS', 'POD', 'INTERFACE', 'CONTAINER', 'STATE'], cells)
}

function formatOddities({ oddities }: PoolView): string {
  return oddities.length === 0 ? '' : section('Oddities', lines(oddities, Number.POSITIVE_INFINITY))
}
