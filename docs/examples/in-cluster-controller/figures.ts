import type { Metric } from 'ipam-kit/render'
import type { ControllerResult } from 'ipam-kit/run'
import type { Figures } from '../program/metrics.js'

/** The counts of each pool, as of its last plan. */
export class PoolFigures implements Figures {
  readonly #pools = new Map<string, { readonly free: number; readonly used: number }>()

  observe({ key, outcome }: ControllerResult): void {
    // a pool that cannot be used, is being deleted or is gone has none, and those of before are not
    // true any more
    const counts = outcome as { readonly free?: number; readonly used?: number } | undefined
    if (counts?.free !== undefined && counts.used !== undefined) {
      this.#pools.set(key, { free: counts.free, used: counts.used })
    } else this.#pools.delete(key)
  }

  metrics(): readonly Metric[] {
    const ofPools = (figure: 'free' | 'used') =>
      [...this.#pools].map(([pool, counts]) => ({ labels: { pool }, value: counts[figure] }))
    return [
      { type: 'gauge', name: 'ipam_pool_free', help: 'Free addresses of a pool', samples: ofPools('free') },
      { type: 'gauge', name: 'ipam_pool_used', help: 'Addresses in use of a pool', samples: ofPools('used') },
    ]
  }
}
