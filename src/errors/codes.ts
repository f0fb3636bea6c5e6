/**
 * The context of each error code. Codes are append-only: a released code is never renamed, reused
 * or removed.
 *
 * Grammar: `MALFORMED_` text that does not parse, `INVALID_` a value that parses and breaks a rule,
 * `_MISMATCH` two values that do not go together, `_OUT_OF_RANGE`, `_EXHAUSTED`, `_NOT_FOUND`,
 * `_CONFLICT`, `_EXCEEDED`, `INVARIANT_` a bug of this library.
 */
export interface ErrorContexts {
  /**
   * `text` is not an IP address; `position` is a UTF-16 offset into it. `suggestion` is there where
   * only the form is wrong, `function` and `argument` where a function took the text as an option.
   */
  readonly MALFORMED_ADDRESS: MalformedText & {
    readonly suggestion?: string
    readonly function?: string
    readonly argument?: string
  }
  /**
   * `text` is not an address with a prefix length. `suggestion` is there where only the form is
   * wrong.
   */
  readonly MALFORMED_PREFIX: MalformedText & { readonly suggestion?: string }
  /**
   * `text` is not a range `first-last` of one family. `suggestion` is there where only the form is
   * wrong.
   */
  readonly MALFORMED_RANGE: MalformedText & { readonly suggestion?: string }
  /**
   * `text` is neither an address, nor a range, nor a CIDR. `index` is its place in a list of
   * several. `others` are the next wrong entries of the list, up to 9, and `more` is the number of
   * the rest. `suggestion`, `function` and `argument` are as in `MALFORMED_ADDRESS`.
   */
  readonly MALFORMED_RANGE_SET_ENTRY: MalformedText & {
    readonly index?: number
    readonly suggestion?: string
    readonly others?: readonly (MalformedText & { readonly index?: number; readonly suggestion?: string })[]
    readonly more?: number
    readonly function?: string
    readonly argument?: string
  }
  /** `text` is not the name of an address or a zone in reverse DNS. */
  readonly MALFORMED_REVERSE_NAME: MalformedText
  /**
   * `text` is not an endpoint or a URL whose host is an IP address. `name` is there where the host
   * is a DNS name, and that is all.
   */
  readonly MALFORMED_URL_HOST: MalformedText & { readonly name?: string }
  /** Bytes that are not the stored form of `what`; `position` is an offset into them. */
  readonly MALFORMED_BYTES: { readonly what: string; readonly position: number; readonly problem: string }
  /**
   * A prefix length that is out of range: 0..32 (IPv4), 0..128 (IPv6), or the lengths inside or
   * around another prefix.
   */
  readonly INVALID_PREFIX_LENGTH: { readonly length: number; readonly min?: number; readonly max: number }
  /** A range whose first address is above its last one. */
  readonly INVALID_RANGE: { readonly first: string; readonly last: string }
  /**
   * A wrong argument: a mistake in the calling code. `function` is the function that was called.
   * `call` is the function that makes the expected value.
   */
  readonly INVALID_ARGUMENT: {
    readonly argument: string
    readonly expected: string
    readonly got: string
    readonly function?: string
    readonly call?: string
  }
  /** Two values of different IP families where one family is needed. */
  readonly FAMILY_MISMATCH: { readonly left: string; readonly right: string }
  /** Arithmetic left the address space of the family. */
  readonly ADDRESS_OUT_OF_RANGE: { readonly address: string; readonly offset: string }
  /** An index outside a set. */
  readonly INDEX_OUT_OF_RANGE: { readonly index: string; readonly size: string }
  /** An object that does not fit its schema, with one issue for each field. */
  readonly INVALID_OBJECT: {
    readonly kind: string
    readonly name: string
    readonly issues: readonly { readonly path: string; readonly message: string }[]
  }
  /** An object of a kind or version that this model does not read. */
  readonly OBJECT_KIND_MISMATCH: { readonly expected: string; readonly got: string }
  /** A pool spec that is not a set of addresses, with one problem for each field. */
  readonly INVALID_POOL_SPEC: { readonly problems: readonly string[] }
  /** An object with this name does not exist. */
  readonly STORE_NOT_FOUND: { readonly object: string }
  /** An object with this name exists already. */
  readonly STORE_ALREADY_EXISTS: { readonly object: string }
  /** The uid or the resourceVersion of the object is not the one that the write expects. */
  readonly STORE_CONFLICT: { readonly object: string; readonly expected: string; readonly actual: string }
  /** The store refuses the object. A retry of the same write fails again. */
  readonly STORE_INVALID: { readonly object: string; readonly path: string; readonly problem: string }
  /** The object is larger than the store takes. Sizes are bytes of UTF-8 JSON. */
  readonly STORE_OBJECT_TOO_LARGE: { readonly object: string; readonly sizeBytes: number; readonly maxBytes: number }
  /** A watch asked for a version that the store no longer has: list again. */
  readonly STORE_VERSION_GONE: { readonly resourceVersion: string; readonly oldest: string }
  /**
   * The engine or the client behind the store failed. Nothing was written.
   */
  readonly STORE_IO: { readonly operation: string; readonly problem: string }
  /**
   * The engine failed with the write in flight: it may be done, not done, or done later. Call
   * `settle` before the next step.
   */
  readonly STORE_OUTCOME_UNKNOWN: { readonly operation: string; readonly object: string; readonly problem: string }
  /** `canWrite` of the host returned false directly before the write. The write was not sent. */
  readonly STORE_WRITE_WITHHELD: { readonly operation: string; readonly object: string }
  /** A run that still has work after its maximum of steps or seconds. */
  readonly RUN_LIMIT_EXCEEDED: { readonly limit: string; readonly max: number; readonly stillBusy: readonly string[] }
  /** Two claims that one owner needs would have the same name. */
  readonly CLAIM_NAME_CONFLICT: { readonly name: string; readonly first: string; readonly second: string }
  /** A claim cannot have this name. */
  readonly INVALID_CLAIM_NAME: { readonly name: string; readonly problem: string }
  /** A broken invariant: a bug of this library. Never catch it to continue. */
  readonly INVARIANT_BROKEN: { readonly what: string }
  /**
   * An object that has no form in another version of its kind; `path` is the field that stands in
   * the way.
   */
  readonly INVALID_CONVERSION: {
    readonly object: string
    readonly to: string
    readonly path: string
    readonly problem: string
  }
  /**
   * An API server refuses an object with this name. `name` is as the system of the kind makes it.
   */
  readonly INVALID_OBJECT_NAME: { readonly kind: string; readonly name: string; readonly problem: string }
  /** A text of a Kubernetes object that has to be JSON and is not; `what` is which text. */
  readonly MALFORMED_EMBEDDED_JSON: { readonly what: string; readonly text: string }
  /** `text` is not a list of networks as `namespace/name@interface`. */
  readonly MALFORMED_NETWORK_SELECTION: MalformedText
  /** An address that cannot have a row in a pool of this range. */
  readonly INVALID_ROW_ADDRESS: { readonly range: string; readonly address: string; readonly problem: string }
  /**
   * The IPAM part of a CNI configuration that cannot be used, with one issue for each field. `text`
   * is the sentence of the upstream project, if the caller asks for its rules.
   */
  readonly INVALID_IPAM_CONFIG: {
    readonly issues: readonly { readonly path: string; readonly message: string }[]
    readonly text?: string | undefined
  }
  /**
   * `what` is not JSON, or is JSON that two parsers can read differently: a name twice in one
   * object. `position` is a UTF-16 offset.
   */
  readonly MALFORMED_JSON: { readonly what: string; readonly position: number; readonly problem: string }
  /** Environment variables of CNI that are missing or wrong. CNI error code 4. */
  readonly INVALID_CNI_ENVIRONMENT: { readonly variables: readonly string[]; readonly problem: string }
  /** A network configuration of CNI that is JSON and breaks a rule at `path`. CNI error code 7. */
  readonly INVALID_CNI_CONFIG: { readonly path: string; readonly problem: string }
  /**
   * A version of the CNI specification that this plugin does not support, or that does not have the
   * command. CNI error code 1.
   */
  readonly CNI_VERSION_MISMATCH: { readonly version: string; readonly problem: string }
  /**
   * The configuration on stdin is too long, or was not complete in time. CNI error code 5.
   */
  readonly CNI_INPUT_LIMIT_EXCEEDED: { readonly limit: 'bytes' | 'milliseconds'; readonly max: number }
  /** A CNI result that this version of the specification cannot express. CNI error code 7. */
  readonly CNI_RESULT_MISMATCH: { readonly version: string; readonly path: string; readonly problem: string }
  /** A range cannot be divided into slices of this size. */
  readonly INVALID_SLICE_SIZE: { readonly sliceSize: string; readonly range: string; readonly problem: string }
  /** The configuration of a network that breaks a rule; `network` is `namespace/name` of it. */
  readonly INVALID_NETWORK: { readonly network: string; readonly rule: string; readonly problem: string }
}

/** Which text does not parse, where and why. */
export interface MalformedText {
  readonly text: string
  readonly position: number
  readonly problem: string
}

export type ErrorCode = keyof ErrorContexts

/**
 * When trying again can help.
 *
 * - `now`: at once, after finding out what is stored
 * - `after`: later, with back-off
 * - `on-pool-change`: when the pool or its addresses change
 * - `never`: the input has to change first
 */
export type RetryClass = 'now' | 'after' | 'on-pool-change' | 'never'

export interface ErrorDefinition<C extends ErrorCode = ErrorCode> {
  readonly code: C
  /** One English sentence without a final full stop; hostile text is shortened and escaped. */
  readonly template: (context: ErrorContexts[C]) => string
  readonly retry: RetryClass
  /** The reason of a Kubernetes condition that reports this error. */
  readonly conditionReason: string
}
