import { Address, Prefix } from 'ipam-kit/cidr'
import type { IPBlock, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { Applied } from '../apply.js'
import { formatRules } from '../checks.js'
import { cell, type Detail, joinSections, LONG, limited, lines, printable, section } from '../text.js'
import { casts } from './cast.js'
import type { Check } from './checks.js'
import { isBound, rowsOf, type Stored, type StoredRow, textOf } from './stored.js'
import type { Writer } from './writer.js'

/** What the scenario came to. */
export interface Outcome {
  readonly writers: readonly Writer[]
  readonly stored: Stored
  readonly checks: readonly Check[]
}

/** What a run has done to a store that lasts. */
export interface Work {
  /** The store, as it may be shown. */
  readonly store: string
  /** What became of the pools. */
  readonly applied: readonly Applied[]
  /** What writers and operator have written. */
  readonly written: number
}

export function formatReport({ writers, stored, checks }: Outcome, detail: Detail): string {
  const { limit, isVerbose } = detail
  const writerRows = writers.map((writer) => Object.values(writerFields(writer)).map(cell))
  const ownerRows = ownersIn(stored).map((owner) => Object.values(owner).map(cell))
  return joinSections([
    section(
      'Writers, all at once',
      limited(['WRITER', 'ADD', 'DEL', 'READS', 'WRITES', 'CONFLICTS'], writerRows, limit),
    ),
    section('Owners', limited(['OWNER', 'WRITER', 'POOL', 'IPV4', 'IPV6'], ownerRows, limit)),
    isVerbose ? formatBlocks(stored, detail) : '',
    section('Pools', limited(POOL_HEADER, stored.pools.flatMap(poolRows), limit)),
    isVerbose ? section('Conditions', lines(stored.pools.flatMap(conditionsOf), limit)) : '',
    formatRules(checks, detail),
  ])
}

/** Each block with its map, and what the characters mean. */
function formatBlocks({ blocks }: Stored, { limit }: Detail): string {
  const rows = blocks.map((block) => {
    const { domain, cidr, pool } = block.spec
    return [domain, cidr, pool, sharesOf(block), mapOf(block)].map(cell)
  })
  const givers = casts.map(({ writer }, index) => `${index + 1} given by ${writer}`)
  return joinSections([
    section('Blocks', limited(['DOMAIN', 'BLOCK', 'MADE FOR', 'GIVEN', 'MAP'], rows, limit)),
    `Map: ${givers.join('  ')}  x by others  . not given`,
  ])
}

/** The same for programs: always with all rows. */
export function documentOf({ writers, stored, checks }: Outcome, work: Work | undefined): object {
  return {
    writers: writers.map(writerFields),
    owners: ownersIn(stored),
    blocks: stored.blocks.map(({ metadata, spec }) => {
      const { domain, cidr, pool, rows } = spec
      return { name: metadata.name, domain, cidr, pool, rows }
    }),
    pools: stored.pools.map(({ metadata, spec, status }) => {
      const { ipv4 = null, ipv6 = null, conditions = [] } = status ?? {}
      return { name: metadata.name, domain: spec.domain, ipv4, ipv6, conditions }
    }),
    checks,
    ...(work === undefined ? {} : { store: workFields(work) }),
  }
}

export function formatWork(work: Work): string {
  const { name, created, changed, unchanged, written } = workFields(work)
  const isIdle = created + changed + written === 0
  const body = [
    `pools: ${created} created, ${changed} changed, ${unchanged} unchanged`,
    `writers and operator: ${written} ${written === 1 ? 'write' : 'writes'}`,
    isIdle ? 'Nothing was to do: everything is as it should be.' : '',
  ]
  return section(`Store ${printable(name)}`, joinSections(body, '\n'))
}

export function formatVerdict(checks: readonly Check[], { limit }: Detail): string {
  const failed = checks.filter(({ wrong }) => wrong.length > 0)
  if (failed.length === 0) return 'This is what the scenario is meant to come to.'
  const parts = failed.map(({ rule, wrong }) => section(`Not so: ${rule}`, lines(wrong, Math.max(limit, LONG))))
  return section('Not what is expected of the scenario:', parts.join('\n'))
}

function writerFields({ cast, adds, dels, store }: Writer) {
  return {
    name: cast.writer,
    adds,
    dels,
    reads: store.reads,
    writes: store.written.length,
    conflicts: store.refused,
  }
}

function ownersIn({ rows }: Stored) {
  return casts.flatMap(({ writer, pods }) =>
    pods.map(({ name, pool, uid }) => {
      const own = rows.filter((each) => isBound(each) && each.row.uid === uid)
      const of = (family: 4 | 6) =>
        own
          .filter((each) => each.family === family)
          .map(textOf)
          .join(', ') || null
      return { name, writer, pool, ipv4: of(4), ipv6: of(6) }
    }),
  )
}

const MAX_CELLS = 64n

/** Of which pools how many are given. */
function sharesOf(block: IPBlock): string {
  const shares = new Map<string, number>()
  for (const each of rowsOf(block)) if (isBound(each)) shares.set(each.pool, (shares.get(each.pool) ?? 0) + 1)
  return (
    [...shares]
      .sort()
      .map(([pool, count]) => `${count} of ${pool}`)
      .join(', ') || 'none'
  )
}

/**
 * A character for each address; `null` for more of them than a line should have, which is a block
 * that others have made.
 */
function mapOf(block: IPBlock): string | null {
  const prefix = Prefix.parse(block.spec.cidr)
  if (Prefix.size(prefix) > MAX_CELLS) return null
  const start = Address.toBigInt(prefix.address)
  const rows = rowsOf(block).filter(isBound)
  return Array.from({ length: Number(Prefix.size(prefix)) }, (_, index) => {
    const at = start + BigInt(index)
    const row = rows.find(({ first, last }) => first <= at && at <= last)
    return row === undefined ? '.' : giverOf(row)
  }).join('')
}

function giverOf({ row }: StoredRow): string {
  const index = casts.findIndex(({ pods }) => pods.some(({ uid, former }) => uid === row.uid || former === row.uid))
  return index === -1 ? 'x' : `${index + 1}`
}

const POOL_HEADER = ['POOL', 'DOMAIN', 'FAMILY', 'TOTAL', 'GIVEN', 'FREE', 'READY', 'EXHAUSTED', 'OVERLAPS']

function poolRows(pool: IPPool): readonly (readonly string[])[] {
  const { metadata, spec, status } = pool
  const states = ['Ready', 'Exhausted', 'Overlaps'].map(
    (wanted) => status?.conditions?.find(({ type }) => type === wanted)?.status ?? null,
  )
  return ([4, 6] as const).map((family) => {
    const { total = null, allocated = null, free = null } = status?.[`ipv${family}`] ?? {}
    return [metadata.name, spec.domain, `IPv${family}`, total, allocated, free, ...states].map(cell)
  })
}

/** Those that have something to say. */
function conditionsOf({ metadata, status }: IPPool): readonly string[] {
  const told = (status?.conditions ?? []).filter(({ message }) => message)
  return told.map(({ type, status: is, reason, message }) => `${metadata.name}: ${type} ${is} ${reason}: ${message}`)
}

function workFields({ store, applied, written }: Work) {
  const count = (wanted: Applied) => applied.filter((each) => each === wanted).length
  return { name: store, created: count('created'), changed: count('changed'), unchanged: count('unchanged'), written }
}
