import { Controller } from 'ipam-kit/run'
import type { ControllerOptions } from '../../../src/run/controller/controller.js'
import { waitFor } from '../servers/tools.js'

const PATIENCE_SECONDS = 30

/** A Controller at work. What its run throws ends every wait. */
export class Work {
  readonly #controller: Controller
  #running: Promise<void> = Promise.resolve()
  #error: unknown

  constructor(options: ControllerOptions) {
    this.#controller = new Controller(options)
  }

  /** Resolves when all selections are listed. */
  async start(): Promise<void> {
    this.#running = this.#controller.run().catch((error: unknown) => {
      this.#error = error
    })
    await this.until('the selections are not listed', () => this.#controller.load.synced)
  }

  /** @param otherwise what is wrong until it holds */
  async until(otherwise: string, holds: () => boolean, explain: () => string = () => ''): Promise<void> {
    const giveUp = () => {
      if (this.#error !== undefined) throw this.#error
    }
    await waitFor(() => holds() || undefined, { seconds: PATIENCE_SECONDS, else: otherwise, explain, giveUp })
  }

  /** @throws what its run has thrown */
  async stop(): Promise<void> {
    this.#controller.stop()
    await this.#running
    if (this.#error !== undefined) throw this.#error
  }
}
