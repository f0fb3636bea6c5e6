import { RedisModel } from '../../store/redis-model.js'
import type { Clients } from './index.js'

/** What both clients have, on a server of its own. */
class Client {
  readonly #model = new RedisModel()

  on(): this {
    return this
  }

  off(): this {
    return this
  }

  duplicate(): this {
    return this
  }

  async connect(): Promise<void> {}

  async subscribe(): Promise<void> {}

  call(...words: [string, ...string[]]): Promise<unknown> {
    return this.#model.send(...words)
  }
}

class NodeClient extends Client {
  sendCommand(words: [string, ...string[]]): Promise<unknown> {
    return this.call(...words)
  }
}

const create = () => new NodeClient()

export const redis: Clients = {
  ioredis: async () => ({ Redis: Client }),
  redis: async () => ({ createClient: create, createCluster: create, createSentinel: create }),
}
