/**
 * A schema with the interface of Standard Schema, version 1: form libraries, routers and validators
 * take it as they take a schema of zod. `validate` answers at once, without a Promise.
 */
export interface StandardSchema<T> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    /** The value with its type, or every problem of it; throws for no input. */
    readonly validate: (value: unknown) => StandardResult<T>
    /** Types alone: there is no such value. */
    readonly types?: { readonly input: unknown; readonly output: T } | undefined
  }
}

/** The result of a Standard Schema. It has `issues` if and only if the value is refused. */
export type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

/** One problem. Without a path it is one of the value as a whole. */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly PropertyKey[] | undefined
}
