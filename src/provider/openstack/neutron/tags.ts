import type { CloudInput } from '../../external/cloud.js'
import type { AnsweredFloatingIP } from './answers.js'
import { idOf, type NeutronCall } from './call.js'
import { isCreatedFor, markerIn } from './description.js'

/** The maximum number of tags that one list adds. */
const MAX_REPAIRED = 20
/** The time of a call that must be left, in milliseconds. */
const MIN_LEFT_MS = 20_000
/** How long a tag that was refused is not tried again, in milliseconds. */
const REFUSED_FOR_MS = 600_000
const MAX_REFUSED = 256

type PoolName = CloudInput['pool']

/** The tag by which upstream's controller and its tools recognise the floating IPs of a pool. */
export function upstreamTag({ name }: PoolName): string {
  return `cluster-api-provider-openstack-fip-pool-${name}`
}

/**
 * Adds the tag of a pool to the floating IPs that were created for it. A tag that cannot be added
 * is not a failure: it is added when the floating IP is marked or listed the next time.
 *
 * A floating IP that is older than the pool gets none: for the tools that read it, the tag means
 * that the pool has created the floating IP. No tag is ever removed.
 */
export class Tagger {
  readonly #tagOf: (pool: PoolName) => string | undefined
  readonly #now: () => number
  /**
   * The time until which a tag is not tried again: it is too long for the cloud, or the cloud has
   * no tags.
   */
  readonly #refused = new Map<string, number>()

  constructor(tagOf: (pool: PoolName) => string | undefined, now: () => number) {
    this.#tagOf = tagOf
    this.#now = now
  }

  /** The floating IP with its tag, if that could be added. */
  async tagged(call: NeutronCall, pool: PoolName, answered: AnsweredFloatingIP): Promise<AnsweredFloatingIP> {
    const tag = this.#tagOf(pool)
    if (tag === undefined || !this.#isToTag(call, pool, tag, answered)) return answered
    const path = `/v2.0/floatingips/${idOf(answered.id)}/tags/${encodeURIComponent(tag)}`
    const added = await call.answer(false, () => call.send({ what: 'add a tag', method: 'PUT', path }))
    // the tag has changed the revision
    if (added.ok) return { ...answered, tags: [...answered.tags, tag], revision_number: undefined }
    if (!added.failure.retryable) this.#refuse(tag)
    return answered
  }

  /**
   * As {@link tagged}, for the listed floating IPs with a marker of the pool: up to 20 of them, and
   * up to the first failure.
   */
  async allTagged(
    call: NeutronCall,
    pool: PoolName,
    markers: readonly string[],
    listed: readonly AnsweredFloatingIP[],
  ): Promise<readonly AnsweredFloatingIP[]> {
    const tag = this.#tagOf(pool)
    if (tag === undefined) return listed
    const all: AnsweredFloatingIP[] = []
    let left = MAX_REPAIRED
    for (const one of listed) {
      const isOurs = left > 0 && markers.some((marker) => markerIn(one.description).startsWith(marker))
      const next = isOurs && this.#isToTag(call, pool, tag, one) ? await this.tagged(call, pool, one) : undefined
      if (next !== undefined) left = next === one ? 0 : left - 1
      all.push(next ?? one)
    }
    return all
  }

  #isToTag(call: NeutronCall, pool: PoolName, tag: string, { tags, description }: AnsweredFloatingIP): boolean {
    if (tags.includes(tag) || !isCreatedFor(pool, description)) return false
    return (this.#refused.get(tag) ?? 0) <= this.#now() && call.leftMs >= MIN_LEFT_MS
  }

  #refuse(tag: string): void {
    if (this.#refused.size >= MAX_REFUSED) this.#refused.clear()
    this.#refused.set(tag, this.#now() + REFUSED_FOR_MS)
  }
}
