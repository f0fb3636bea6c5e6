import { RedisModel } from '../../store/redis-model.js'
import type { Clients } from './clients.js'

/** What both clients have, on a server of its own. */
class Client {
  readonly #model = new RedisModel()

  on(): this {
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

/** What has several connections is told more than the words. */
class ClusterClient extends Client {
  sendCommand(_key: string, _isReadonly: boolean, words: [string, ...string[]]): Promise<unknown> {
    return this.call(...words)
  }
}

class SentinelClient extends Client {
  sendCommand(_isReadonly: boolean, words: [string, ...string[]]): Promise<unknown> {
    return this.call(...words)
  }
}

export const redis: Clients = {
  ioredis: async () => ({ Redis: Client }),
  redis: async () => ({
    createClient: () => new NodeClient(),
    createCluster: () => new ClusterClient(),
    createSentinel: () => new SentinelClient(),
  }),
}
