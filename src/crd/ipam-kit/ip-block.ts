import * as z from 'zod'
import { age, type CrdModel, column } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { READ_AS } from '../meta/reader.js'
import {
  type Field,
  type FieldsOf,
  fixed,
  integer,
  kubeObject,
  mapOf,
  object,
  text,
  withRules,
} from '../meta/strict.js'
import { CIDR, holder, NAME, ownKind, plain, SEQUENCE, TIME } from './fields.js'
import { MAX_BLOCK_SIZE, NEVER_FALLS, NOT_A_UNIT, UNIT_PATTERN } from './names.js'

/**
 * A range of addresses of a domain, and their owners. It is the only record of what is allocated. A
 * writer allocates an address by adding a row. The API server refuses the write if another writer
 * has changed the block since, so any number of writers can allocate at the same time.
 *
 * The grid of the domain, not the pool, determines the borders of a block: overlapping pools share
 * blocks.
 */
export interface IPBlock extends KubeObject {
  readonly spec: IPBlockSpec
}

export interface IPBlockSpec extends FieldsOf<typeof specFields> {}

/** The owner of a unit, or of adjacent units. */
export interface IPBlockRow extends FieldsOf<typeof holder>, FieldsOf<typeof rowFields> {}

function specFields() {
  const row: Field<IPBlockRow> = object('The owner of a unit, or of adjacent units.', { ...holder(), ...rowFields() })
  const rows = mapOf('Owners by the number of the unit within the block, from 0.', row, {
    maxProperties: MAX_BLOCK_SIZE,
    isAtomic: true,
  })
  const isUnit = { rule: `self.all(unit, unit.matches('${UNIT_PATTERN}'))`, message: NOT_A_UNIT }
  const sequence = integer('Sequence of the last added row. It never decreases.', SEQUENCE)
  return {
    /** Part of the name. Immutable. */
    cidr: fixed(text('Addresses of the block. They are part of its name. Immutable.', { ...CIDR, maxLength: 43 })),
    /** Name of the {@link IPDomain}. Immutable. */
    domain: fixed(text('Name of the IPDomain. Immutable.', NAME)),
    /** Prefix length of a unit. Immutable. */
    allocationPrefixLength: fixed(integer('Prefix length of a unit. Immutable.', { minimum: 1, maximum: 128 })),
    /** The pool that the block was created for. Rows without a pool belong to it. Immutable. */
    pool: fixed(text('The pool that the block was created for. Rows without a pool belong to it. Immutable.', NAME)),
    /** The node that the block is bound to. */
    node: text('The node that the block is bound to.', { ...NAME, maxLength: 253 }).optional(),
    /**
     * The sequence of the last row that was added, in this block or in a former block of the same
     * addresses. It never decreases.
     */
    sequence: withRules(sequence, [{ rule: 'self >= oldSelf', message: NEVER_FALLS }]),
    /** The last allocated unit. The order `next` continues after it. */
    last: integer('The last allocated unit.', { minimum: 0, maximum: MAX_BLOCK_SIZE - 1 }).optional(),
    /**
     * Rows by the number of the unit within the block, from 0. A free unit has no row, unless a
     * released row is kept for its former owner.
     */
    rows: withRules(rows, [isUnit]).default({}),
  }
}

/**
 * A row, with everything at its longest, has about 950 bytes with its key: a block of 1,024 such
 * rows stays below 1,000,000.
 */
function rowFields() {
  const units = { minimum: 1, maximum: MAX_BLOCK_SIZE }
  const mac = { maxLength: 17, pattern: '^[0-9a-f]{2}(:[0-9a-f]{2}){5}$' }
  return {
    /** The interface of the owner. Default: the owner has one interface. */
    interface: text('The interface of the owner. Default: the owner has one interface.', plain('interface')).optional(),
    /** Id of the container, if a container runtime made the request. */
    container: text('Id of the container, if a container runtime made the request.', plain('container')).optional(),
    mac: text('The hardware address of the interface.', mac).optional(),
    /** Default: the pool of the block. */
    pool: text('The pool of the row. Default: the pool of the block.', NAME).optional(),
    /** The number of units, from this one upwards. Default: 1. */
    count: integer('Number of units, from this one upwards. Default: 1.', units)
      .register(READ_AS, { reader: z.int().min(1) })
      .optional(),
    /** No other row of the address ever has the same number. */
    sequence: integer('Sequence of the row. No other row of the address ever has the same.', SEQUENCE),
    /**
     * Absent: allocated to the owner. `held`: released, and kept for the owner if it returns.
     * `cooldown`: released, and not allocated to any owner until `until`.
     */
    state: text(
      'Absent: allocated to the owner. held: released, and kept for the owner if it returns. cooldown: released, and not allocated to any owner yet.',
      { enum: ['held', 'cooldown'] },
    ).optional(),
    /** When the address was released. */
    released: text('When the address was released.', TIME).optional(),
    /** When the state `held` or `cooldown` ends. */
    until: text('When the state held or cooldown ends.', TIME).optional(),
  }
}

export const IPBlock: CrdModel<IPBlock> = /* @__PURE__ */ ownKind({
  kind: 'IPBlock',
  statusSubresource: false,
  selectableFields: ['spec.domain', 'spec.node', 'spec.pool'],
  columns: [
    column('CIDR', 'Addresses of the block', '.spec.cidr'),
    column('Domain', 'IPDomain in which each address is allocated once', '.spec.domain'),
    column('Pool', 'Pool that the block was created for', '.spec.pool'),
    column('Node', 'Node that the block is bound to', '.spec.node'),
    age('block'),
  ],
  schema: () =>
    kubeObject('A range of addresses of a domain, and their owners.', {
      spec: object('Addresses of the block, and their owners.', specFields()),
    }),
})
