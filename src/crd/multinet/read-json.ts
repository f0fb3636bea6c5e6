import * as z from 'zod'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import { INVALID_OBJECT, MALFORMED_EMBEDDED_JSON } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import { type JsonObject, pathText, withoutNulls } from '../meta/json.js'

/** An address of an interface, with the prefix length of its subnet where the text has one. */
export interface InterfaceAddress {
  readonly address: Address.Address
  /** 0 to 32, or 0 to 128. Left out: the text is an address alone. */
  readonly prefixLength?: number | undefined
}

/** What an annotation or a configuration says, or why it cannot be read. */
export type TextResult<T> = Result<T, 'MALFORMED_EMBEDDED_JSON' | 'INVALID_OBJECT'>

/** The maximum number of field errors in one failure. */
const MAX_ISSUES = 100

/**
 * A JSON text by a schema. `null` counts as absent.
 *
 * @param what what the text is, as `annotation`
 * @param name its name
 */
export function readJson<T>(schema: z.ZodType<T>, text: string, what: string, name: string): TextResult<T> {
  const json = jsonOf(text)
  if (json === undefined) return failWith(MALFORMED_EMBEDDED_JSON, { what: `${what} ${name}`, text })
  const parsed = schema.safeParse(withoutNulls(json.value))
  if (parsed.success) return ok(parsed.data)
  const issues = parsed.error.issues.slice(0, MAX_ISSUES)
  return failWith(INVALID_OBJECT, {
    kind: what,
    name,
    issues: issues.map(({ path, message }) => ({ path: pathText(path), message })),
  })
}

function jsonOf(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** What a schema reads of an object, with the object as it is stored. */
export interface Kept<S extends z.ZodType> {
  readonly read: z.output<S>
  readonly stored: JsonObject
}

/** The schema that also keeps the object: what it reads can lack members, or have others. */
export function kept<S extends z.ZodType>(schema: S): z.ZodType<Kept<S>> {
  return z.unknown().transform((stored, context) => {
    const parsed = schema.safeParse(stored)
    if (parsed.success) return { read: parsed.data, stored: stored as JsonObject }
    for (const { path, message } of parsed.error.issues) context.addIssue({ code: 'custom', path: [...path], message })
    return z.NEVER
  })
}

/** An address, with or without the prefix length of its subnet. */
export const interfaceAddress: z.ZodType<InterfaceAddress> = z.string().transform((text, context) => {
  if (text.includes('/')) {
    const prefix = Prefix.safeParse(text)
    if (prefix.ok) return { address: prefix.value.address, prefixLength: prefix.value.length }
    context.addIssue(prefix.failure.message)
    return z.NEVER
  }
  const address = Address.safeParse(text)
  if (address.ok) return { address: address.value }
  context.addIssue(address.failure.message)
  return z.NEVER
})

const HEX = '[0-9A-Fa-f]'
/** Of 6, 8 or 20 bytes, as Go's `net.ParseMAC` reads them. */
const MAC = /* @__PURE__ */ new RegExp(
  [
    ...[5, 7, 19].flatMap((more) => [`(${HEX}{2}:){${more}}${HEX}{2}`, `(${HEX}{2}-){${more}}${HEX}{2}`]),
    ...[2, 3, 9].map((more) => `(${HEX}{4}\\.){${more}}${HEX}{4}`),
  ]
    .map((form) => `^${form}$`)
    .join('|'),
)

export const mac: z.ZodType<string> = /* @__PURE__ */ z.string().regex(MAC, 'not a MAC address')
