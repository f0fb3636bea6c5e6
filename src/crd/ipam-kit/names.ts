export const API_VERSION = 'ipam-kit.dev/v1alpha1'

/** On an IPBlock: it stays while it has rows. */
export const ROWS_FINALIZER = 'ipam-kit.dev/rows'
/** On an IPPool and an IPDomain: it stays while there are blocks that need it. */
export const BLOCKS_FINALIZER = 'ipam-kit.dev/blocks'

/** On a SubnetReservations: what it says keeps two Nodes from getting one subnet, so it stays. */
export const RESERVATIONS_FINALIZER = 'ipam-kit.dev/reservations'

/** The domain of a pool that names none. */
export const DEFAULT_DOMAIN = 'default'

/**
 * How long the name of a pool or a domain may be: that of a block adds up to 39 characters to the
 * one, and each row of it may name the other.
 */
export const MAX_NAME_LENGTH = 200
/**
 * How many ranges each of the lists in the status of a pool has at most: they are hints, and may
 * leave some out.
 */
export const MAX_STATUS_RANGES = 2048
/** The most subnets of a pool, and the most texts in each of the lists of one. */
export const MAX_SUBNETS = 256
export const MAX_SUBNET_TEXTS = 256

/**
 * The most interfaces of an owner in its handle, and the most blocks of each: one of each family,
 * and those that an attempt has left.
 */
export const MAX_HANDLE_INTERFACES = 64
export const MAX_HANDLE_BLOCKS = 64

/**
 * What JSON writes in as many bytes as there are characters, also that of Go: printable ASCII
 * without blanks, `"`, `\\`, `<`, `>` and `&`.
 */
export const PLAIN_PATTERN = "^[!#-%'-;=?-\\[\\]-~]+$"
/** How long the texts of a row may be: with them all the largest block stays below 1 MB. */
export const MAX_ROW_TEXTS = { owner: 317, uid: 36, kind: 80, interface: 15, container: 64 } as const

/** For how long what was given back waits at most, in seconds: 366 days. */
export const MAX_SECONDS = 31_622_400

/** The most units that a block has: with the longest names the API knows it stays below 1 MB. */
export const MAX_BLOCK_SIZE = 1024
/**
 * How many units a block has where nobody says it: of pools that bind blocks to nodes, and of
 * others.
 */
export const DEFAULT_BLOCK_SIZES = { node: 64, shared: 256 } as const

/** The most components that have to accept a range of a ClusterNetwork. */
export const MAX_CONSUMERS = 8
/** The most ranges of a ClusterNetwork. Each component can answer for each of them. */
export const MAX_RANGES = 128
export const MAX_ANSWERS = MAX_RANGES * MAX_CONSUMERS
/** The most CIDRs of a family in a ClusterNetwork: as many as ip-masq-agent reads. */
export const MAX_KNOWN_PREFIXES = 64

/** The most Nodes that a SubnetReservations has entries of. */
export const MAX_RESERVATIONS = 256
/**
 * The most ranges that a SubnetReservations names as ended: those of before are kept as long as
 * there is room.
 */
export const MAX_ENDED = 128
