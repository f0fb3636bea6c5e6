import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pod } from 'ipam-kit/crd/core'
import type { KindInfo } from 'ipam-kit/crd/meta'
import type { Store } from 'ipam-kit/store'
import {
  type ClientNodeConfig,
  type ClientNodeWatch,
  fromClientNode,
  type KubernetesClient,
  kubernetesStore,
} from 'ipam-kit/store/kubernetes'
import type { Load } from '../../../docs/examples/open-store.js'
import type {
  KubernetesAnswer,
  KubernetesRequest,
  KubernetesWatchConnection,
  KubernetesWatchQuery,
} from '../../../src/store/kubernetes/client.js'
import { paced } from '../pace.js'

/** A list of all Pods in one request takes seconds, of the API server and of the client. */
const REQUEST_MS = 120_000
const GONE = 410

/** The answer to a request. */
export interface Answered {
  readonly method: string
  readonly path: string
  readonly status: number
  /** Of the body, as JSON. */
  readonly bytes: number
}

/** The client of a kubeconfig, and a record of all answers. It can be cut off from the server. */
export class Line implements KubernetesClient {
  readonly #client: KubernetesClient
  readonly #watches = new Set<KubernetesWatchConnection>()
  readonly #inOneRequest: boolean
  #isCut = false
  readonly answers: Answered[] = []
  /** How many watches got 410. */
  goneWatches = 0
  /** Called before each request is sent. */
  before: (path: string) => Promise<void> = async () => {}

  /** @param inOneRequest asks for all pages of a list at once */
  constructor(client: KubernetesClient, { inOneRequest = false } = {}) {
    this.#client = client
    this.#inOneRequest = inOneRequest
  }

  /** All lists but those by which a watch asks for the current version. */
  get lists(): readonly Answered[] {
    return this.answers.filter(({ path }) => !/[?&]limit=1$/.test(path))
  }

  async request(request: KubernetesRequest): Promise<KubernetesAnswer> {
    const path = this.#inOneRequest ? request.path.replace(/[?&]limit=500?$/, '') : request.path
    await this.before(path)
    this.#assertOpen()
    const answer = await this.#client.request({ ...request, path })
    this.answers.push({ method: request.method, path, status: answer.status, bytes: Buffer.byteLength(answer.body) })
    return answer
  }

  async watch(
    path: string,
    query: KubernetesWatchQuery,
    onEvent: (type: string, object: unknown) => void,
    done: (error: unknown) => void,
  ): Promise<KubernetesWatchConnection> {
    this.#assertOpen()
    let connection: KubernetesWatchConnection | undefined
    const told = (type: string, object: unknown) => {
      if (type === 'ERROR' && (object as { code?: number }).code === GONE) this.goneWatches++
      onEvent(type, object)
    }
    const ended = (error: unknown) => {
      if (connection !== undefined) this.#watches.delete(connection)
      if ((error as { statusCode?: number } | null)?.statusCode === GONE) this.goneWatches++
      done(error)
    }
    connection = await this.#client.watch(path, query, told, ended)
    this.#watches.add(connection)
    return connection
  }

  /** Ends all watches, and sends nothing until {@link mend}. */
  cut(): void {
    this.#isCut = true
    for (const connection of this.#watches) connection.abort()
  }

  mend(): void {
    this.#isCut = false
  }

  #assertOpen(): void {
    if (this.#isCut) throw Object.assign(new Error('the line is cut'), { code: 'ECONNREFUSED' })
  }
}

interface ClientNode {
  readonly KubeConfig: new () => ClientNodeConfig & { loadFromString(text: string): void }
  readonly Watch: new (config: ClientNodeConfig) => ClientNodeWatch
}

/** @param kubeconfig its file */
export async function openLine(kubeconfig: string, load: Load, options: { inOneRequest?: boolean } = {}) {
  const { KubeConfig, Watch } = await load<ClientNode>('@kubernetes/client-node')
  const config = new KubeConfig()
  config.loadFromString(readFileSync(kubeconfig, 'utf8'))
  const signal = () => AbortSignal.timeout(paced(REQUEST_MS))
  return new Line(fromClientNode(config, new Watch(config), { signal }), options)
}

export function storeOver(line: Line, kinds: readonly KindInfo[] = [Pod.info]): Store {
  return kubernetesStore(line, { sleep, kinds })
}
