import { assertBytes, isBytes, notBytes } from '../../cidr/internal.js'
import { fail, type Result, unwrap } from '../../errors/index.js'
import { refuseIn } from '../../errors/refuse.js'
import { firstDifference } from '../util/state-codec.js'
import { Pool } from './pool.js'
import { decodePool, encodePool, notAsWritten } from './pool-codec.js'

/**
 * Which address next? Hands out the addresses of `ranges` without those that are kept back, each to
 * one owner, by a strategy.
 *
 * Deterministic, synchronous, in memory; mutable, so one pool belongs to one caller. Time comes in
 * with each call that needs it. What is observed to be in use, also outside the pool or twice, is
 * recorded by {@link occupy} and never handed out; an address is free again when nobody holds it
 * and it has cooled down.
 *
 * Cost of an allocation: O(log n) at any size and fill, and O(ranges) more for each address with
 * the strategy `hashed`; O(n / 32 + ranges + free ranges) for a run or a prefix at worst; and O(k
 * log k) for an owner that holds k addresses. Memory: one bit an address for up to 2^24 addresses
 * of a family, and beyond that up to 24 bytes a free range; plus a record for each address in use,
 * and with `least-recently-released`, a cooldown or a hold time one for each address that was
 * released.
 *
 * @throws IpamError `INVALID_ARGUMENT`: see the parts of the spec
 * @example
 * const pool = new AddressPool({ ranges: ['10.0.0.0/29'] })
 * const outcome = pool.allocate({ owner: { uid: 'a' } })
 * outcome.kind === 'allocated' && Address.format(outcome.address) // '10.0.0.1'
 * pool.counts().free // 5n
 */
export class AddressPool extends Pool {
  /**
   * A pool as compact bytes, with a version and a checksum: its addresses, options, owners, what
   * cools down and what its strategy remembers. Two pools of one state have the same bytes, however
   * they came to it. `RangeSet.encode(pool.inUse())` is what is left of it without owners. O(n log
   * n).
   *
   * @example
   * const pool = new AddressPool({ ranges: RangeSet.parse(['10.0.0.0/24']) })
   * pool.allocate({ owner: { uid: 'a' } })
   * AddressPool.decode(AddressPool.encode(pool)).counts().used // 1n
   */
  static encode(pool: AddressPool): Uint8Array {
    if (!(pool instanceof AddressPool)) refuseIn('AddressPool.encode', 'pool', 'an AddressPool', pool)
    return encodePool(pool.stored())
  }

  /**
   * The pool that {@link encode} made bytes of: it gives the same answers. O(n log n).
   *
   * @throws IpamError `MALFORMED_BYTES` for what `encode` does not write: another version, damage
   *   by the checksum, a pool that contradicts itself; `INVALID_ARGUMENT` for what is no Uint8Array
   */
  static decode(bytes: Uint8Array): AddressPool {
    assertBytes('AddressPool.decode', bytes)
    return unwrap(AddressPool.safeDecode(bytes))
  }

  /** As {@link decode}, with the failure as a value. */
  static safeDecode(bytes: Uint8Array): Result<AddressPool, 'MALFORMED_BYTES'> {
    if (!isBytes(bytes)) return fail('MALFORMED_BYTES', notBytes('a pool of addresses', bytes))
    const stored = decodePool(bytes)
    if (!stored.ok) return stored
    const pool = new AddressPool(stored.value.spec)
    pool.restore(stored.value)
    const position = firstDifference(bytes, AddressPool.encode(pool))
    return position < 0 ? { ok: true, value: pool } : notAsWritten(position)
  }
}
