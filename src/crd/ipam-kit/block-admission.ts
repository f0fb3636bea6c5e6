import * as Prefix from '../../cidr/nouns/prefix.js'
import type { AdmissionRequest, Admit } from '../meta/admission.js'
import { type FieldError, invalidField } from '../meta/field-error.js'
import { NEVER_CHANGES } from '../meta/strict.js'
import { blockName } from './block-name.js'
import { gridProblem } from './grid.js'
import { IPBlock, type IPBlockRow, type IPBlockSpec } from './ip-block.js'
import type { IPDomain } from './ip-domain.js'
import { admissionBy, ofName } from './judge.js'
import { MAX_BLOCK_SIZE } from './names.js'
import { type PlacedRow, placedRows, unitsOf } from './rows.js'
import { NEVER_FALLS, NOT_A_UNIT } from './versions.js'

/** What an admission webhook is asked about a block. */
export type IPBlockAdmissionRequest = AdmissionRequest<IPBlock> & {
  /** The domain of the block. Left out: whether the block is on its grid is not looked at. */
  readonly domain?: IPDomain | undefined
}

/**
 * Whether a block is one: it has the name of its domain and addresses ({@link blockName}), lies on
 * a grid, and each of its units has one row at most, with a number of its own. In an update the
 * addresses stay, numbers only grow, and who has a unit keeps it until it is released: its row may
 * get a new number, and then the uid of another object of the same name. One that leaves the spec
 * as it is is always allowed. O(rows).
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation, or a domain of another name
 * @example
 * const spec = { cidr: '10.0.1.0/24', domain: 'default', allocationPrefixLength: 32, pool: 'blue', sequence: 0 }
 * const object = IPBlock.parse({ apiVersion: 'ipam-kit.dev/v1alpha1', kind: 'IPBlock', metadata: { name: 'mine' }, spec })
 * admitIPBlock({ operation: 'CREATE', object }).message
 * // 'IPBlock.ipam-kit.dev "mine" is invalid: metadata.name: Invalid value: "mine": is not default-4-0a000100-24'
 */
export const admitIPBlock: Admit<IPBlockAdmissionRequest> = /* @__PURE__ */ admissionBy(IPBlock, {
  judge: (object, before, { domain }: IPBlockAdmissionRequest) => ({
    errors: [
      ...placeErrors(object, ofName(domain, object.spec.domain)),
      ...rowErrors(object),
      ...(before === undefined ? [] : changeErrors(before.spec, object.spec)),
    ],
  }),
  waitsFor: ({ spec }) => {
    const count = Object.keys(spec.rows).length
    return count === 0 ? [] : [`goes when its rows are released: ${count}`]
  },
})

/** What is wrong with where a block lies. */
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
  const name = blockName(spec.domain, prefix)
  return name === metadata.name ? errors : [...errors, invalidField('metadata.name', metadata.name, `is not ${name}`)]
}

/** What is wrong with the rows of a block, each by itself and beside the others. */
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
  if (row.sequence > most) return refuse(`is above that of the block, ${most}`)
  return holder === undefined ? [] : refuse(`row ${holder} has it`)
}

function stateErrors(path: string, { state, released, until }: IPBlockRow): readonly FieldError[] {
  if (state === undefined) return []
  const required = (field: string): FieldError => {
    const detail = `of a row that is ${state}`
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

/** What may not become of a block: it stays where it is, and its rows are those of who has them. */
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
        const detail = `a row that is added has one above ${before.sequence}`
        errors.push(invalidField(`${path}.sequence`, row.sequence, detail))
      }
      // what was given and is remembered again, of whoever had it before, is nobody's
      if (row.state !== undefined) continue
      for (const holder of holdersOf(holders, key, row)) errors.push(...successorErrors(path, holder, row))
    } else if (old.state === undefined) errors.push(...holderErrors(path, old, row))
    else if (row.state === undefined) {
      errors.push(invalidField(`${path}.sequence`, row.sequence, 'who gets what was given back has a row of its own'))
    }
  }
  return errors
}

/** Who had each unit: a row of several units has those behind its key as well. */
function holdersIn(spec: IPBlockSpec): ReadonlyMap<number, IPBlockRow> {
  const holders = new Map<number, IPBlockRow>()
  for (const { row, first, end } of placedRows({ spec })) {
    if (row.state !== undefined) continue
    // what was stored before there were rules may say any number
    for (let unit = first; unit < Math.min(end, MAX_BLOCK_SIZE); unit++) holders.set(unit, row)
  }
  return holders
}

/** Who had the units that a row is for. */
function holdersOf(holders: ReadonlyMap<number, IPBlockRow>, key: string, row: IPBlockRow): ReadonlySet<IPBlockRow> {
  const found = new Set<IPBlockRow>()
  for (let unit = Number(key); unit < Number(key) + (row.count ?? 1); unit++) {
    const holder = holders.get(unit)
    if (holder !== undefined) found.add(holder)
  }
  return found
}

/**
 * A row in place of one that was not released is one of the same owner, as its name tells it: of
 * another container, or of an object that was made anew.
 */
function successorErrors(path: string, old: IPBlockRow, row: IPBlockRow): readonly FieldError[] {
  const changed = (['owner', 'kind', 'interface'] as const).filter((field) => row[field] !== old[field])
  return changed.map((field) => notGivenBack(`${path}.${field}`, row[field], old))
}

function notGivenBack(path: string, value: string | undefined, old: IPBlockRow): FieldError {
  return invalidField(path, value ?? null, `${old.owner} has the unit, and has not given it back`)
}

/** What says who has which units. It goes with the number of the row. */
function holderErrors(path: string, old: IPBlockRow, row: IPBlockRow): readonly FieldError[] {
  const changed = (['owner', 'uid', 'kind', 'interface'] as const).filter((field) => row[field] !== old[field])
  const errors = changed.map((field) => notGivenBack(`${path}.${field}`, row[field], old))
  const { count = 1 } = row
  if (count <= (old.count ?? 1)) return errors
  return [...errors, invalidField(`${path}.count`, count, `row ${row.sequence} is for ${old.count ?? 1}`)]
}
