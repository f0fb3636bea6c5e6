import { assertBytes, isBytes, notBytes } from '../../cidr/internal.js'
import { MALFORMED_BYTES } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { type Result, unwrap } from '../../errors/index.js'
import { refuseIn } from '../../errors/refuse.js'
import { firstDifference } from '../util/state-codec.js'
import { Pool } from './pool.js'
import { decodePool, encodePool, notAsWritten } from './pool-codec.js'

/**
 * A pool of addresses: it gives each address of `ranges`, except excluded and reserved ones, to one
 * owner. A strategy decides which address is next.
 *
 * Deterministic, synchronous, in memory. It is mutable, so one pool belongs to one caller. Calls
 * that need the time take it as an argument. {@link occupy} records addresses that are observed in
 * use, also outside of the pool or with several owners; they are never given out. An address is
 * free again when it has no owner and its cooldown has ended.
 *
 * An allocation is O(log n) at any size and fill; O(ranges) more for each address with the strategy
 * `hashed`; O(n / 32 + ranges + free ranges) for a run or a prefix; O(k log k) for an owner that
 * holds k addresses. Memory: one bit for each address for up to 2^24 addresses of a family; above
 * that, up to 24 bytes for each free range. Each address in use has a record. With
 * `least-recently-released`, a cooldown or a hold time, each released address has one too.
 *
 * @throws IpamError `INVALID_ARGUMENT`: see `AddressPoolSpec`
 * @example
 * const pool = new AddressPool({ ranges: ['10.0.0.0/29'] })
 * const outcome = pool.allocate({ owner: { uid: 'a' } })
 * outcome.kind === 'allocated' && Address.format(outcome.address) // '10.0.0.1'
 * pool.counts().free // 5n
 */
export class AddressPool extends Pool {
  /**
   * A pool as compact bytes, with a version and a checksum: its addresses, options, owners,
   * cooldowns and the state of its strategy. Two pools with the same state have the same bytes.
   * `RangeSet.encode(pool.inUse())` stores the addresses in use without their owners. O(n log n).
   *
   * @example
   * const pool = new AddressPool({ ranges: ['10.0.0.0/24'] })
   * pool.allocate({ owner: { uid: 'a' } })
   * AddressPool.decode(AddressPool.encode(pool)).counts().used // 1n
   */
  static encode(pool: AddressPool): Uint8Array {
    if (!(pool instanceof AddressPool)) refuseIn('AddressPool.encode', 'pool', 'an AddressPool', pool)
    return encodePool(pool.stored())
  }

  /**
   * The pool that {@link encode} stored. It behaves as the stored one. O(n log n).
   *
   * @throws IpamError `MALFORMED_BYTES` for bytes that `encode` does not write: another version, a
   * wrong checksum, an inconsistent pool; `INVALID_ARGUMENT` for a value that is not a Uint8Array
   */
  static decode(bytes: Uint8Array): AddressPool {
    assertBytes('AddressPool.decode', bytes)
    return unwrap(AddressPool.safeDecode(bytes))
  }

  /** As {@link decode}, with the failure as a value. */
  static safeDecode(bytes: Uint8Array): Result<AddressPool, 'MALFORMED_BYTES'> {
    if (!isBytes(bytes)) return failWith(MALFORMED_BYTES, notBytes('a pool of addresses', bytes))
    const stored = decodePool(bytes)
    if (!stored.ok) return stored
    const pool = new AddressPool(stored.value.spec)
    pool.restore(stored.value)
    const position = firstDifference(bytes, AddressPool.encode(pool))
    return position < 0 ? { ok: true, value: pool } : notAsWritten(position)
  }
}
