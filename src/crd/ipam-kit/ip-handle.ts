import * as z from 'zod'
import { refuse } from '../../errors/refuse.js'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { objectSchema } from '../meta/schema.js'
import { API_VERSION } from './names.js'
import { handleVersions } from './versions.js'

/**
 * Where the rows of an owner are: so that who does not know all blocks finds them without a search.
 * It is written before a row is, and so it may name blocks in which there is none; but none that it
 * does not name has one.
 *
 * It says who has what as little as a bookmark does: that stands in the rows alone.
 */
export interface IPHandle extends KubeObject {
  readonly spec: IPHandleSpec
}

export interface IPHandleSpec {
  /** `namespace/name`, or `name`. */
  readonly owner: string
  /** The uid of the owner. The name of the handle says it too. Never changes. */
  readonly uid: string
  /** What the owner is, as `Kind.group`. Left out: a Pod. */
  readonly kind?: string | undefined
  /** How often it was changed: a write that changes nothing else does so, to be a write. */
  readonly sequence?: number | undefined
  /**
   * The names of blocks, by the interface of the owner; under `''` those of an owner whose
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

/** A uid as Kubernetes and others make them: it can stand in a name as it is. */
const PLAIN = /^[0-9a-z](?:[-0-9a-z]*[0-9a-z])?$/u
/** So that the name has at most 253 characters, also with four digits for each of the uid. */
const MAX_UID_LENGTH = 60

/**
 * The name of the handle of an owner: `uid-` and its uid, or `hex-` and four hexadecimal digits for
 * each UTF-16 unit of it where it has characters that no name has. No two uids have one name.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a uid that is empty, or has more than 60 UTF-16 units
 */
export function handleName(uid: string): string {
  if (uid.length === 0 || uid.length > MAX_UID_LENGTH) {
    refuse('uid', `1 to ${MAX_UID_LENGTH} characters`, uid.slice(0, 64))
  }
  if (PLAIN.test(uid)) return `uid-${uid}`
  const digits = Array.from({ length: uid.length }, (_, at) => uid.charCodeAt(at).toString(16).padStart(4, '0'))
  return `hex-${digits.join('')}`
}
