import type { Metric } from 'ipam-kit/render'
import type { ControllerResult } from 'ipam-kit/run'
import type { Figures } from '../program/metrics.js'
import { OutcomeCounts } from '../program/outcomes.js'

/** How many claims, machines and Pods there are, by what their last plan came to. */
export class ClaimFigures implements Figures {
  readonly #outcomes = new OutcomeCounts()
  readonly #kinds: readonly string[]

  /** @param kinds the kinds of the keys, such as `IPAMClaim` */
  constructor(...kinds: readonly string[]) {
    this.#kinds = kinds
  }

  observe(result: ControllerResult): void {
    this.#outcomes.observe(result)
  }

  metrics(): readonly Metric[] {
    const samples = this.#kinds.flatMap((kind) =>
      this.#outcomes.of(`${kind} `).map(({ labels, value }) => ({ labels: { kind, ...labels }, value })),
    )
    const help = 'Objects by what their last plan came to'
    return [{ type: 'gauge', name: 'ipam_persistent_ip_objects', help, samples }]
  }
}
