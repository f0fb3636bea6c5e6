import type * as z from 'zod'
import { type CrdModel, column, defineCrdModel, type PrinterColumn } from '../meta/crd-model.js'
import { SUBDOMAIN_PATTERN } from '../meta/dns-names.js'
import type { KubeObject } from '../meta/object.js'
import { readerOf, type StrictOf } from '../meta/reader.js'
import { kubeObject, text, withRules } from '../meta/strict.js'
import { API_VERSION, MAX_NAME_LENGTH, MAX_ROW_TEXTS, PLAIN_PATTERN } from './names.js'

// Parts of the kinds of this folder.

interface OwnKind<T extends KubeObject> {
  readonly kind: string
  readonly statusSubresource: boolean
  readonly selectableFields?: readonly string[]
  readonly columns: readonly PrinterColumn[]
  /** The strict schema. The reader follows from it. */
  readonly schema: () => StrictOf<T>
}

/** The model of a kind of `ipam-kit.dev/v1alpha1`. */
// @__NO_SIDE_EFFECTS__
export function ownKind<T extends KubeObject>({ kind, columns, schema, ...info }: OwnKind<T>): CrdModel<T> {
  return defineCrdModel<T>({
    info: { apiVersion: API_VERSION, kind, plural: `${kind.toLowerCase()}s`, namespaced: false, ...info },
    schema: readerOf(schema),
    categories: ['ipam'],
    versions: [{ apiVersion: API_VERSION, columns, schema }],
  })
}

/** The column of the condition Ready. */
export function ready(what: string): PrinterColumn {
  return column('Ready', `Whether the ${what} can be used`, '.status.conditions[?(@.type=="Ready")].status')
}

/**
 * A kind whose names become parts of other names. An API server checks names with its own pattern
 * only.
 */
export function named<S extends z.ZodRawShape>(description: string, shape: S) {
  const message = `metadata.name has more than ${MAX_NAME_LENGTH} characters`
  return withRules(kubeObject(description, shape), [
    { rule: `size(self.metadata.name) <= ${MAX_NAME_LENGTH}`, message },
  ])
}

export const NAME = { minLength: 1, maxLength: MAX_NAME_LENGTH, pattern: SUBDOMAIN_PATTERN } as const
export const CIDR = { minLength: 4, maxLength: 49 } as const
export const COUNT = { maxLength: 39, pattern: '^(0|[1-9][0-9]*)$' } as const
export const SEQUENCE = { format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const
export const TIME = { format: 'date-time', maxLength: 27 } as const

/** A text of a row. */
export function plain(field: keyof typeof MAX_ROW_TEXTS) {
  return { minLength: 1, maxLength: MAX_ROW_TEXTS[field], pattern: PLAIN_PATTERN }
}

/** The fields of an owner. */
export function holder() {
  return {
    /** `namespace/name`, or `name`. */
    owner: text('The owner, as namespace/name, or as name.', plain('owner')),
    /** The uid of the owner. */
    uid: text('The uid of the owner.', plain('uid')),
    /** Kind of the owner, as `Kind.group`. Default: a Pod. */
    kind: text('Kind of the owner, as Kind.group. Default: a Pod.', plain('kind')).optional(),
  }
}

/** A CIDR as the view writes it, so that two components mean the same range by the same text. */
export function canonical(description: string) {
  const message = 'must be a CIDR in canonical form without host bits'
  return withRules(text(description, { ...CIDR, maxLength: 43 }), [
    { rule: 'isCIDR(self) && string(cidr(self).masked()) == self', message },
  ])
}
