export const API_VERSION = 'ipam-kit.dev/v1alpha1'

/** On an IPBlock: the API server keeps it while it has rows. */
export const ROWS_FINALIZER = 'ipam-kit.dev/rows'
/** On an IPPool and an IPDomain: the API server keeps it while blocks need it. */
export const BLOCKS_FINALIZER = 'ipam-kit.dev/blocks'

/** The default domain of a pool. */
export const DEFAULT_DOMAIN = 'default'

/**
 * The maximum length of the name of a pool or a domain. The name of a block adds up to 39
 * characters to the name of the domain, and each row may name a pool.
 */
export const MAX_NAME_LENGTH = 200
/**
 * The maximum number of ranges in each list of the status of a pool. The lists are hints and may be
 * incomplete.
 */
export const MAX_STATUS_RANGES = 2048
/** The maximum number of subnets of a pool, and of texts in each list of a subnet. */
export const MAX_SUBNETS = 256
export const MAX_SUBNET_TEXTS = 256

/**
 * The maximum number of interfaces in a handle, and of blocks for each: one for each family, and
 * those of failed attempts.
 */
export const MAX_HANDLE_INTERFACES = 64
export const MAX_HANDLE_BLOCKS = 64

/**
 * Characters that JSON of any language writes as one byte: printable ASCII without blanks, `"`,
 * `\\`, `<`, `>` and `&`.
 */
export const PLAIN_PATTERN = "^[!#-%'-;=?-\\[\\]-~]+$"
/** The maximum lengths of the texts of a row. The largest block stays below 1 MB. */
export const MAX_ROW_TEXTS = { owner: 317, uid: 36, kind: 63, interface: 15, container: 64 } as const

/** The maximum of `reuseAfterSeconds` and of other times of a pool, in seconds: 366 days. */
export const MAX_SECONDS = 31_622_400

/** The maximum number of units of a block. With the longest names it stays below 1 MB. */
export const MAX_BLOCK_SIZE = 1024
/**
 * The default number of units of a block: in pools that bind blocks to nodes, and in pools that all
 * nodes share.
 */
export const DEFAULT_BLOCK_SIZES = { node: 64, shared: 256 } as const

/** The maximum number of components that must accept a range of a ClusterNetwork. */
export const MAX_CONSUMERS = 8
/** The maximum number of ranges of a ClusterNetwork. Each component can answer for each range. */
export const MAX_RANGES = 128
export const MAX_ANSWERS = MAX_RANGES * MAX_CONSUMERS
/** The maximum number of CIDRs of a family in a ClusterNetwork: ip-masq-agent reads up to 64. */
export const MAX_KNOWN_PREFIXES = 64

/** The key of a row: 0 to 1023. A structural schema cannot constrain keys. */
export const UNIT_PATTERN = '^(0|[1-9][0-9]{0,2}|10[01][0-9]|102[0-3])$'
/** The message for another key. */
export const NOT_A_UNIT = 'the key of a row is the number of a unit'
/** The message for a sequence that decreases. */
export const NEVER_FALLS = 'never falls'
