import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { gcPlanner } from '../../../src/provider/gc/index.js'
import { runUntilQuiet } from '../../../src/run/index.js'
import { kubernetesStore } from '../../../src/store/kubernetes/index.js'
import { memoryStore } from '../../../src/store/memory/index.js'
import type { RealKubernetes } from '../servers/kubernetes.js'
import { type Act, kinds, Side } from './side.js'

/** The same objects on both sides, and collectors on both. */
export class Pair {
  readonly #memory = memoryStore({ now: Date.now, kinds })
  readonly ours = new Side(this.#memory)
  readonly theirs: Side

  constructor(server: RealKubernetes) {
    this.theirs = new Side(storeOf(server))
  }

  async act(act: Act): Promise<void> {
    await this.ours.act(act)
    await this.theirs.act(act)
  }

  /** What is left when our collector has nothing more to do. */
  async collect(): Promise<ReadonlyMap<string, string>> {
    const { failures } = await runUntilQuiet(this.#memory, [gcPlanner({ kinds })], { now: Date.now })
    assert.deepEqual(failures, [])
    return this.ours.state()
  }
}

function storeOf(server: RealKubernetes) {
  return kubernetesStore(
    {
      async request({ method, path, headers, body }) {
        const contentType = headers['content-type'] ?? 'application/json'
        const more = body === undefined ? {} : { body: JSON.parse(body), contentType }
        const answer = await server.request(method, path, more)
        return {
          status: answer.status,
          body: typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body),
        }
      },
      watch: () => Promise.reject(new Error('nobody watches here')),
    },
    { sleep, kinds },
  )
}
