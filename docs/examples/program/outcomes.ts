import type { Metric } from 'ipam-kit/render'
import type { ControllerResult } from 'ipam-kit/run'

/** The figures of a gauge. */
export type Samples = Extract<Metric, { readonly type: 'counter' | 'gauge' }>['samples']

/** Counts objects by what their last plan came to. */
export class OutcomeCounts {
  readonly #outcomes = new Map<string, string>()

  observe({ key, kind, outcome }: ControllerResult): void {
    if (kind !== 'done') return
    if (outcome === undefined) this.#outcomes.delete(key)
    else this.#outcomes.set(key, outcome.kind)
  }

  /**
   * O(keys).
   *
   * @param prefix of the keys that are counted, such as `Node `
   */
  of(prefix: string): Samples {
    const counts = new Map<string, number>()
    for (const [key, kind] of this.#outcomes) {
      if (key.startsWith(prefix)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
    }
    return [...counts].map(([outcome, value]) => ({ labels: { outcome }, value }))
  }
}
