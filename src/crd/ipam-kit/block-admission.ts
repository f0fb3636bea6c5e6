import * as Prefix from '../../cidr/nouns/prefix.js'
import type { AdmissionRequest, Admit } from '../meta/admission.js'
import { type FieldError, invalidField } from '../meta/field-error.js'
import { NEVER_CHANGES } from '../meta/strict.js'
import { blockName, isName } from './block-name.js'
import { gridProblem } from './grid.js'
import { IPBlock, type IPBlockRow, type IPBlockSpec } from './ip-block.js'
import type { IPDomain } from './ip-domain.js'
import { admissionBy, DOMAIN, domainOf } from './judge.js'
import { MAX_BLOCK_SIZE, NEVER_FALLS, NOT_A_UNIT } from './names.js'
import { type PlacedRow, placedRows, unitsOf } from './rows.js'

/** A request to admit a block. */
export type IPBlockAdmissionRequest = AdmissionRequest<IPBlock> & {
  /** The domain of the block. Default: the block is not compared with a grid. */
  readonly domain?: IPDomain | undefined
}

/**
 * Decides whether a block is valid: its name follows from its domain and addresses
 * ({@link blockName}), it lies on a grid, and each unit has at most one row, with a sequence of its
 * own. In an update, addresses stay and sequences never decrease. An owner keeps a unit until it is
 * released. Its row may get a new sequence, and with it the uid of another object of the same name.
 * An update without a change of the spec is always allowed. O(rows).
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation, or a domain of another name
 * @example
 * const spec = { cidr: '10.0.1.0/24', domain: 'default', allocationPrefixLength: 32, pool: 'blue', sequence: 0 }
 * const object = IPBlock.parse({ apiVersion: 'ipam-kit.dev/v1alpha1', kind: 'IPBlock', metadata: { name: 'mine' }, spec })
 * admitIPBlock({ operation: 'CREATE', object }).message
 * // 'IPBlock.ipam-kit.dev "mine" is invalid: metadata.name: Invalid value: "mine": is not default-4-0a000100-24'
 */
export const admitIPBlock: Admit<IPBlockAdmissionRequest> = /* @__PURE__ */ admissionBy(IPBlock, {
  beside: ['open', { domain: DOMAIN, oldObject: ['open?', { spec: ['open', { rows: 'object' }] }] }],
  errors: (object, before, request: IPBlockAdmissionRequest) => [
    ...placeErrors(object, domainOf(object, request)),
    ...rowErrors(object),
    ...(before === undefined ? [] : changeErrors(before.spec, object.spec)),
  ],
  waitsFor: ({ spec }) => {
    const count = Object.keys(spec.rows).length
    return count === 0 ? [] : [`deletion waits for the release of its rows: ${count}`]
  },
})

/** Errors of the addresses and the name of a block. */
function placeErrors({ metadata, spec }: IPBlock, domain: IPDomain | undefined): readonly FieldError[] {
  const { cidr, allocationPrefixLength } = spec
  const refuse = (detail: string) => [invalidField('spec.cidr', cidr, detail)]
  const parsed = Prefix.safeParse(cidr)
  if (!parsed.ok) return refuse('is not a CIDR')
  const prefix = Prefix.masked(parsed.value)
  if (Prefix.format(prefix) !== cidr) return refuse(`is not ${Prefix.format(prefix)}`)
  const { family } = prefix.address
  const problem = gridProblem(family, { blockPrefixLength: prefix.length, allocationPrefixLength })
  if (problem !== undefined) return refuse(problem)
  const errors: FieldError[] = []
  const grid = domain?.spec[`ipv${family}`]
  if (grid !== undefined && prefix.length !== grid.blockPrefixLength) {
    errors.push(...refuse(`blocks of the domain have the length ${grid.blockPrefixLength}`))
  }
  if (grid !== undefined && allocationPrefixLength !== grid.allocationPrefixLength) {
    const detail = `units of the domain have the length ${grid.allocationPrefixLength}`
    errors.push(invalidField('spec.allocationPrefixLength', allocationPrefixLength, detail))
  }
  // the schema has an error for another domain
  const name = isName(spec.domain) ? blockName(spec.domain, prefix) : metadata.name
  return name === metadata.name ? errors : [...errors, invalidField('metadata.name', metadata.name, `is not ${name}`)]
}

/** Errors of the rows of a block, each alone and with the others. */
function rowErrors(block: IPBlock): readonly FieldError[] {
  const { cidr, allocationPrefixLength, rows, sequence, last } = block.spec
  const prefix = Prefix.safeParse(cidr)
  const units = prefix.ok ? unitsOf(prefix.value, allocationPrefixLength) : 0
  const placed = placedRows(block)
  const errors: FieldError[] = []
  if (last !== undefined && last >= units) errors.push(invalidField('spec.last', last, lastUnit(units)))
  const keys = new Set(placed.map(({ key }) => key))
  for (const key of Object.keys(rows)) {
    if (!keys.has(key)) errors.push(invalidField('spec.rows', key.slice(0, 64), NOT_A_UNIT))
  }
  const holders = new Map<number, string>()
  let before: PlacedRow | undefined
  for (const place of placed) {
    const { key, row, first, end } = place
    const path = `spec.rows.${key}`
    if (end > units) errors.push(invalidField(path, end - 1, lastUnit(units)))
    if (before !== undefined && first < before.end) errors.push(invalidField(path, first, `row ${before.key} has it`))
    if (before === undefined || end > before.end) before = place
    errors.push(...sequenceErrors(path, row, sequence, holders.get(row.sequence)), ...stateErrors(path, row))
    holders.set(row.sequence, key)
  }
  return errors
}

function lastUnit(units: number): string {
  return `the last unit of the block is ${units - 1}`
}

function sequenceErrors(
  path: string,
  row: IPBlockRow,
  most: number,
  holder: string | undefined,
): readonly FieldError[] {
  const refuse = (detail: string) => [invalidField(`${path}.sequence`, row.sequence, detail)]
  if (row.sequence > most) return refuse('is above spec.sequence')
  return holder === undefined ? [] : refuse(`row ${holder} has it`)
}

function stateErrors(path: string, { state, released, until }: IPBlockRow): readonly FieldError[] {
  if (state === undefined) return []
  const required = (field: string): FieldError => {
    const detail = `of a row with the state ${state}`
    return { type: 'Required', path: `${path}.${field}`, value: null, detail }
  }
  if (released === undefined || until === undefined) {
    return [
      ...(released === undefined ? [required('released')] : []),
      ...(until === undefined ? [required('until')] : []),
    ]
  }
  return Date.parse(until) < Date.parse(released) ? [invalidField(`${path}.until`, until, `is before ${released}`)] : []
}

/** Errors of an update: a change of addresses, or of the owner of an allocated unit. */
function changeErrors(before: IPBlockSpec, after: IPBlockSpec): readonly FieldError[] {
  const errors: FieldError[] = []
  for (const field of ['cidr', 'domain', 'allocationPrefixLength', 'pool'] as const) {
    if (after[field] !== before[field]) errors.push(invalidField(`spec.${field}`, after[field], NEVER_CHANGES))
  }
  if (after.sequence < before.sequence) errors.push(invalidField('spec.sequence', after.sequence, NEVER_FALLS))
  const holders = holdersIn(before)
  for (const [key, row] of Object.entries(after.rows)) {
    const path = `spec.rows.${key}`
    const old = Object.hasOwn(before.rows, key) ? before.rows[key] : undefined
    if (old === undefined || old.sequence !== row.sequence) {
      if (row.sequence <= before.sequence) {
        const detail = `a new row needs a sequence above ${before.sequence}`
        errors.push(invalidField(`${path}.sequence`, row.sequence, detail))
      }
      // a released row that is kept for a former owner allocates nothing
      if (row.state !== undefined) continue
      for (const holder of holdersOf(holders, key, row)) errors.push(...successorErrors(path, holder, row))
    } else if (old.state === undefined) errors.push(...holderErrors(path, old, row))
    else if (row.state === undefined) {
      errors.push(invalidField(`${path}.sequence`, row.sequence, 'the next owner of a released unit needs a new row'))
    }
  }
  return errors
}

/** The allocated row of each unit. A row of several units covers those after its key as well. */
function holdersIn(spec: IPBlockSpec): ReadonlyMap<number, IPBlockRow> {
  const holders = new Map<number, IPBlockRow>()
  for (const { row, first, end } of placedRows({ spec })) {
    if (row.state !== undefined) continue
    // rows that were stored before these rules may have any count
    for (let unit = first; unit < Math.min(end, MAX_BLOCK_SIZE); unit++) holders.set(unit, row)
  }
  return holders
}

/** The rows that had the units of a new row. */
function holdersOf(holders: ReadonlyMap<number, IPBlockRow>, key: string, row: IPBlockRow): ReadonlySet<IPBlockRow> {
  const found = new Set<IPBlockRow>()
  for (let unit = Number(key); unit < Number(key) + (row.count ?? 1); unit++) {
    const holder = holders.get(unit)
    if (holder !== undefined) found.add(holder)
  }
  return found
}

/**
 * A row that replaces one which was not released must have the same owner by name: of another
 * container, or of a recreated object.
 */
function successorErrors(path: string, old: IPBlockRow, row: IPBlockRow): readonly FieldError[] {
  const changed = (['owner', 'kind', 'interface'] as const).filter((field) => row[field] !== old[field])
  return changed.map((field) => notGivenBack(`${path}.${field}`, row[field], old))
}

function notGivenBack(path: string, value: string | undefined, old: IPBlockRow): FieldError {
  return invalidField(path, value ?? null, `${old.owner} has the unit, and has not released it`)
}

/** Errors of a change of the owner or the units of a row that keeps its sequence. */
function holderErrors(path: string, old: IPBlockRow, row: IPBlockRow): readonly FieldError[] {
  const changed = (['owner', 'uid', 'kind', 'interface'] as const).filter((field) => row[field] !== old[field])
  const errors = changed.map((field) => notGivenBack(`${path}.${field}`, row[field], old))
  const { count = 1 } = row
  if (count <= (old.count ?? 1)) return errors
  return [...errors, invalidField(`${path}.count`, count, `row ${row.sequence} is for ${old.count ?? 1}`)]
}
