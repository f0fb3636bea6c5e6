import { check } from '../errors/check.js'
import { refuse } from '../errors/refuse.js'
import type { HistogramSample } from './prometheus.js'

/**
 * Counts observations by upper bounds, for a metric of type `histogram`.
 *
 * @example
 * const seconds = new Histogram([0.1, 1])
 * seconds.observe(0.25)
 * seconds.sample({ operation: 'create' })
 * // { labels: { operation: 'create' }, buckets: [{ atMost: 0.1, count: 0 }, { atMost: 1, count: 1 }], sum: 0.25, count: 1 }
 */
export class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0
  #count = 0

  /**
   * @param bounds rising and finite. The bucket of all observations is added
   * @throws IpamError `INVALID_ARGUMENT`
   */
  constructor(bounds: readonly number[]) {
    const isRising =
      Array.isArray(bounds) && bounds.every((bound, i) => Number.isFinite(bound) && (i === 0 || bound > bounds[i - 1]!))
    if (!isRising) refuse('Histogram', 'bounds', 'finite numbers, each above the one before', bounds)
    this.#bounds = [...bounds]
    this.#counts = this.#bounds.map(() => 0)
  }

  /**
   * Counts one observation. O(bounds).
   *
   * @throws IpamError `INVALID_ARGUMENT` for what is no number
   */
  observe(value: number): void {
    if (typeof value !== 'number' || Number.isNaN(value)) refuse('Histogram.observe', 'value', 'a number', value)
    for (const [i, bound] of this.#bounds.entries()) if (value <= bound) this.#counts[i]!++
    this.#sum += value
    this.#count++
  }

  /** The counts so far. */
  sample(labels?: HistogramSample['labels']): HistogramSample {
    if (labels !== undefined) check('Histogram.sample', 'labels', labels, 'object')
    const buckets = this.#bounds.map((atMost, i) => ({ atMost, count: this.#counts[i]! }))
    return { labels, buckets, sum: this.#sum, count: this.#count }
  }
}
