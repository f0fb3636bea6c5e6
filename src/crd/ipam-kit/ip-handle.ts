import * as z from 'zod'
import { refuse } from '../../errors/refuse.js'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { objectSchema } from '../meta/schema.js'
import { API_VERSION } from './names.js'
import { handleVersions } from './versions.js'

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

export interface IPHandleSpec {
  /** `namespace/name`, or `name`. */
  readonly owner: string
  /** The uid of the owner, part of the name of the handle. Immutable. */
  readonly uid: string
  /** Kind of the owner, as `Kind.group`. Default: a Pod. */
  readonly kind?: string | undefined
  /**
   * The number of changes. A write that changes nothing else increases it, so that the API server
   * stores it.
   */
  readonly sequence?: number | undefined
  /**
   * The names of blocks, by the interface of the owner. The key is `''` for an owner whose
   * interfaces have no names.
   */
  readonly blocks: { readonly [interfaceName: string]: readonly string[] }
}

const schema: z.ZodType<IPHandle> = objectSchema({
  spec: z.looseObject({
    owner: z.string(),
    uid: z.string(),
    kind: z.string().optional(),
    sequence: z.int().optional(),
    blocks: z.record(z.string(), z.array(z.string())).default({}),
  }),
})

export const IPHandle: CrdModel<IPHandle> = /* @__PURE__ */ defineCrdModel({
  info: { apiVersion: API_VERSION, kind: 'IPHandle', plural: 'iphandles', namespaced: false, statusSubresource: false },
  schema,
  categories: ['ipam'],
  versions: handleVersions(),
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
