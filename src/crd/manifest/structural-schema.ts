import * as z from 'zod'

/** A schema as a CustomResourceDefinition takes it: JSON Schema without references and choices. */
export interface StructuralSchema {
  readonly type: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly description?: string
  readonly properties?: { readonly [name: string]: StructuralSchema }
  readonly additionalProperties?: StructuralSchema
  readonly items?: StructuralSchema
  readonly required?: readonly string[]
  readonly default?: unknown
  readonly [keyword: string]: unknown
}

/**
 * The structural schema of a strict one. What a client may leave out is not required:
 * `io: 'input'`. Keywords that zod has no word for stand in the metadata of the strict schema,
 * where zod takes them from.
 */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: 'input',
    reused: 'inline',
    override: ({ jsonSchema }) => {
      // a CRD says nothing of the keys of a map, and an object without fields has no list of them
      delete jsonSchema.propertyNames
      if (Object.keys(jsonSchema.properties ?? { some: 1 }).length === 0) delete jsonSchema.properties
      jsonSchema.required?.sort()
    },
  })
  return json as StructuralSchema
}
