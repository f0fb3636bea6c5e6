import { IPPool, type IPPoolFamilyStatus } from '../../../crd/ipam-kit/ip-pool.js'
import { type PoolReading, type PoolSpace, readPoolSpace } from '../../../crd/ipam-kit/space.js'
import { formatFieldError } from '../../../crd/meta/field-error.js'
import type { KubeObject } from '../../../crd/meta/object.js'
import { INVALID_POOL_SPEC } from '../../../errors/definitions.js'
import { failWith } from '../../../errors/failure.js'
import type { Result } from '../../../errors/index.js'
import type { ParseResult } from '../../../plan/cached-objects.js'

/** A parsed version of a pool. Immutable. */
export class ParsedPool {
  readonly object: IPPool
  /** Equal for two versions that give the same addresses. */
  readonly gives: string
  #reading: PoolReading | undefined
  #space: Result<PoolSpace, 'INVALID_POOL_SPEC'> | undefined

  /** @param before the version before: if it gives the same addresses, its space is reused */
  constructor(object: IPPool, before?: ParsedPool) {
    const { spec, status } = object
    this.object = object
    this.gives = JSON.stringify([spec, status?.domainUID, gridOf(status?.ipv4), gridOf(status?.ipv6)])
    const isSame = before?.gives === this.gives
    this.#reading = isSame ? before.#read() : undefined
    this.#space = isSame ? before.space : undefined
  }

  /**
   * The space that the right parts of the pool give, or why it gives nothing. Versions that give
   * the same addresses share one object.
   */
  get space(): Result<PoolSpace, 'INVALID_POOL_SPEC'> {
    const { space, isUnsafe } = this.#read()
    this.#space ??= isUnsafe ? failWith(INVALID_POOL_SPEC, { problems: this.problems }) : { ok: true, value: space }
    return this.#space
  }

  /** What is wrong with the spec, as sentences. */
  get problems(): readonly string[] {
    return this.#read().errors.map(formatFieldError)
  }

  #read(): PoolReading {
    const { spec, status } = this.object
    // the grid of the domain says whether the pool gives addresses or prefixes
    this.#reading ??= readPoolSpace(spec, { ipv4: status?.ipv4 ?? spec.ipv4, ipv6: status?.ipv6 ?? spec.ipv6 })
    return this.#reading
  }
}

/** Reads a pool. */
export function readPool(object: KubeObject, before?: ParsedPool): ParseResult<ParsedPool> {
  const read = IPPool.safeParse(object)
  return read.ok
    ? { ok: true, value: new ParsedPool(read.value, before) }
    : { ok: false, problem: read.failure.message }
}

function gridOf(of: IPPoolFamilyStatus | undefined): readonly number[] | undefined {
  return of && [of.blockPrefixLength, of.allocationPrefixLength]
}
