import * as z from 'zod'
import type { KubeObject } from './object.js'
import { objectSchema, timestamp } from './schema.js'
import type { TextRules } from './strict.js'

/** The schema with which `parse` reads a field, where it does not follow from the strict one. */
export const READ_AS = /* @__PURE__ */ z.registry<{ readonly reader: unknown }>()

/** A strict schema of a kind. */
export type StrictOf<T extends KubeObject> = z.ZodType<{
  readonly spec?: T['spec'] | undefined
  readonly status?: T['status'] | undefined
}>

/**
 * The schema with which `parse` reads a kind, from the strict schema of its stored version: the
 * same fields and defaults. It asks for types, choices and times, and not for limits and patterns.
 * It keeps unknown fields, and requires a spec. Built at the first use.
 */
// @__NO_SIDE_EFFECTS__
export function readerOf<T extends KubeObject>(strict: () => StrictOf<T>): z.ZodType<T> {
  return z.lazy(() => {
    const { apiVersion: _, kind: __, metadata: ___, spec, ...rest } = (strict() as unknown as z.ZodObject).shape
    const required = spec instanceof z.ZodOptional ? spec.unwrap() : spec
    return objectSchema(readersOf({ ...(required && { spec: required }), ...rest }))
  }) as unknown as z.ZodType<T>
}

function readersOf(shape: Readonly<z.core.$ZodLooseShape>): z.ZodRawShape {
  return Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, readerFor(field)]))
}

/** The reader of a field: see strict.ts for what those are made of. */
function readerFor(field: z.core.$ZodType): z.ZodType {
  const own = READ_AS.get(field)
  if (own !== undefined) return own.reader as z.ZodType
  const { def } = (field as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'optional':
      return readerFor(def.innerType).optional()
    case 'default':
      return readerFor(def.innerType).default(def.defaultValue)
    case 'object':
      return z.looseObject(readersOf(def.shape))
    case 'array':
      return z.array(readerFor(def.element))
    case 'record':
      return z.record(z.string(), readerFor(def.valueType))
    case 'number':
      return z.int()
    case 'string':
      return textReader(z.globalRegistry.get(field) as TextRules)
    default:
      return z.boolean()
  }
}

function textReader({ enum: choices, format }: TextRules): z.ZodType {
  if (choices !== undefined) return z.enum(choices)
  return format === 'date-time' ? timestamp() : z.string()
}
