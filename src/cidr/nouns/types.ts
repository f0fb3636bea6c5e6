/** An IPv4 address as one unsigned 32-bit number. */
export interface Address4 {
  readonly family: 4
  /** 0 to 2^32 - 1. */
  readonly value: number
}

/** An IPv6 address as four unsigned 32-bit words, `w0` the most significant. */
export interface Address6 {
  readonly family: 6
  readonly w0: number
  readonly w1: number
  readonly w2: number
  readonly w3: number
}

/**
 * An IP address: a plain value without a zone. IPv4-mapped IPv6 (`::ffff:1.2.3.4`) is IPv6, as in
 * Go's net/netip.
 */
export type Address = Address4 | Address6

export type Family = Address['family']
