/** A JSON Schema, as far as definitions use it. */
export interface Schema {
  readonly [keyword: string]: unknown
}

/**
 * A model that is obviously right: whether a value is what a schema asks for, keyword by keyword.
 */
export function accepts(schema: Schema, value: unknown): boolean {
  switch (schema.type) {
    case 'string':
      return typeof value === 'string' && acceptsText(schema, value)
    case 'boolean':
      return typeof value === 'boolean'
    case 'integer':
      return Number.isInteger(value) && acceptsNumber(schema, value as number)
    case 'array':
      return Array.isArray(value) && acceptsList(schema, value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value) && acceptsObject(schema, value)
    default:
      throw new Error(`a schema of type ${String(schema.type)}`)
  }
}

function acceptsText(schema: Schema, value: string): boolean {
  const length = [...value].length
  return (
    length >= ((schema.minLength as number | undefined) ?? 0) &&
    length <= ((schema.maxLength as number | undefined) ?? Number.POSITIVE_INFINITY) &&
    (schema.pattern === undefined || new RegExp(schema.pattern as string).test(value)) &&
    (schema.enum === undefined || (schema.enum as string[]).includes(value)) &&
    (schema.format !== 'date-time' || !Number.isNaN(Date.parse(value))) &&
    (schema.format !== 'uuid' ||
      /^[0-9a-fA-F]{32}$/.test(value.replace(/^(.{8})-?(.{4})-?(.{4})-?(.{4})-?/, '$1$2$3$4')))
  )
}

function acceptsNumber(schema: Schema, value: number): boolean {
  return (
    value >= ((schema.minimum as number | undefined) ?? Number.NEGATIVE_INFINITY) &&
    value <= ((schema.maximum as number | undefined) ?? Number.POSITIVE_INFINITY) &&
    (schema.format !== 'int32' || Math.abs(value) < 2 ** 31)
  )
}

function acceptsList(schema: Schema, value: readonly unknown[]): boolean {
  const keys = schema['x-kubernetes-list-map-keys'] as string[] | undefined
  const isSet = schema['x-kubernetes-list-type'] === 'set'
  const names = value.map((item) => JSON.stringify(isSet ? item : keys?.map((key) => (item as Schema | null)?.[key])))
  return (
    value.length >= ((schema.minItems as number | undefined) ?? 0) &&
    value.length <= ((schema.maxItems as number | undefined) ?? Number.POSITIVE_INFINITY) &&
    value.every((item) => accepts(schema.items as Schema, item)) &&
    ((keys === undefined && !isSet) || new Set(names).size === names.length)
  )
}

function acceptsObject(schema: Schema, value: object): boolean {
  const properties = (schema.properties ?? {}) as { readonly [name: string]: Schema }
  const fields = Object.entries(value).filter(([, field]) => field !== null)
  const known = fields.filter(([name]) => schema.properties === undefined || Object.hasOwn(properties, name))
  const required = (schema.required ?? []) as string[]
  return (
    known.length >= ((schema.minProperties as number | undefined) ?? 0) &&
    known.length <= ((schema.maxProperties as number | undefined) ?? Number.POSITIVE_INFINITY) &&
    required.every((name) => fields.some(([field]) => field === name)) &&
    fields.every(([name, field]) => {
      const inner = properties[name] ?? (schema.additionalProperties as Schema | undefined)
      return inner === undefined || accepts(inner, field)
    })
  )
}
