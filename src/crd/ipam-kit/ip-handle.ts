import { refuse } from '../../errors/refuse.js'
import { age, type CrdModel, column } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { type FieldsOf, fixed, integer, kubeObject, list, mapOf, object, text } from '../meta/strict.js'
import { holder, ownKind, SEQUENCE } from './fields.js'
import { MAX_HANDLE_BLOCKS, MAX_HANDLE_INTERFACES } from './names.js'

/**
 * An index from an owner to the blocks that may contain its rows, for callers that have no cache of
 * all blocks. A writer names a block here before it adds a row to it. So a handle may name a block
 * without a row of the owner, and every block with such a row is named.
 *
 * Only the rows of blocks say what an owner holds.
 */
export interface IPHandle extends KubeObject {
  readonly spec: IPHandleSpec
}

export interface IPHandleSpec extends FieldsOf<typeof specFields> {}

function specFields() {
  const { owner, uid, kind } = holder()
  const name = text('The name of a block.', { minLength: 1, maxLength: 253 })
  const names = list('The names of the blocks.', name, { maxItems: MAX_HANDLE_BLOCKS })
  const interfaces =
    'Blocks by the name of the interface. The name is empty for an owner whose interfaces have no names.'
  return {
    /** `namespace/name`, or `name`. */
    owner,
    /** The uid of the owner, part of the name of the handle. Immutable. */
    uid: fixed(uid),
    /** Kind of the owner, as `Kind.group`. Default: a Pod. */
    kind,
    /**
     * The number of changes. A write that changes nothing else increases it, so that the API server
     * stores it.
     */
    sequence: integer('The number of changes of the handle.', SEQUENCE).optional(),
    /**
     * The names of blocks, by the interface of the owner. The key is `''` for an owner whose
     * interfaces have no names.
     */
    blocks: mapOf(interfaces, names, { maxProperties: MAX_HANDLE_INTERFACES }).default({}),
  }
}

export const IPHandle: CrdModel<IPHandle> = /* @__PURE__ */ ownKind({
  kind: 'IPHandle',
  statusSubresource: false,
  columns: [column('Owner', 'Owner of the rows', '.spec.owner'), age('handle')],
  schema: () =>
    kubeObject('An index from an owner to the blocks of its rows, for callers that have no cache of all blocks.', {
      spec: object('The blocks that may contain rows of the owner.', specFields()),
    }),
})

/** A uid that can be part of an object name: those of Kubernetes are. */
const PLAIN = /^[0-9a-z](?:[-0-9a-z]*[0-9a-z])?$/u
/** The name has at most 253 characters, also with four digits for each character of the uid. */
const MAX_UID_LENGTH = 60

/** Whether a text can be the uid of an owner. */
export function isUid(uid: string): boolean {
  return uid.length > 0 && uid.length <= MAX_UID_LENGTH
}

/**
 * The name of the handle of an owner: `uid-` and its uid. If the uid has characters that an object
 * name cannot have, it is `hex-` and four hexadecimal digits for each UTF-16 unit. No two uids have
 * the same name.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a uid that is empty, or has more than 60 UTF-16 units
 */
export function handleName(uid: string): string {
  if (!isUid(uid)) {
    refuse('handleName', 'uid', `1 to ${MAX_UID_LENGTH} characters`, uid.slice(0, 64))
  }
  if (PLAIN.test(uid)) return `uid-${uid}`
  const digits = Array.from({ length: uid.length }, (_, at) => uid.charCodeAt(at).toString(16).padStart(4, '0'))
  return `hex-${digits.join('')}`
}
