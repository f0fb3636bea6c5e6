import { check, type Kind, type KindOf } from '../../errors/check.js'
import type { KubernetesClient } from './client.js'
import type { ClientNodeConfig, ClientNodeConfiguration, ClientNodeSignal } from './client-node-config.js'
import { Connections } from './connections.js'

/** `Watch` of client-node 1.4 and 2. */
export type ClientNodeWatch = Pick<KubernetesClient, 'watch'>

export interface ClientNodeOptions {
  /**
   * Ends a request that takes too long, because client-node has no time limit:
   * `() => AbortSignal.timeout(30_000)`. The outcome of a write that was ended is unknown. Watches
   * have a time limit of their own.
   */
  readonly signal?: (() => ClientNodeSignal) | undefined
}

const CONFIGURATION: Kind = ['open', { baseServer: 'object', httpApi: 'object', authMethods: 'object' }]

const CLIENT_NODE_OPTIONS: KindOf<ClientNodeOptions> = { signal: 'function?' }

/**
 * The client of a `kubernetesStore` over @kubernetes/client-node. It uses the server, the
 * credentials and the HTTP of client-node, and changes no document. It keeps connections open while
 * the certificates do not change, which client-node does not do.
 *
 * @throws Error of client-node if the config has no current cluster
 * @example
 * import { KubeConfig, Watch } from '@kubernetes/client-node'
 *
 * const config = new KubeConfig()
 * config.loadFromDefault()
 * const client = fromClientNode(config, new Watch(config), { signal: () => AbortSignal.timeout(30_000) })
 */
export function fromClientNode(
  config: ClientNodeConfig,
  watch: ClientNodeWatch,
  options: ClientNodeOptions = {},
): KubernetesClient {
  check('fromClientNode', 'config', config, ['open', { makeApiClient: 'function' }])
  check('fromClientNode', 'watch', watch, ['open', { watch: 'function' }])
  check('fromClientNode', 'options', options, CLIENT_NODE_OPTIONS)

  const configuration: unknown = config.makeApiClient(ConfigurationOnly)?.configuration
  check('fromClientNode', 'config.makeApiClient().configuration', configuration, CONFIGURATION)
  const { baseServer, httpApi, authMethods } = configuration as ClientNodeConfiguration
  const connections = new Connections(config)
  return {
    async request({ method, path, headers, body }) {
      const request = baseServer.makeRequestContext(path, method)
      for (const [name, value] of Object.entries(headers)) request.setHeaderParam(name, value)
      if (body !== undefined) request.setBody(body)
      if (options.signal !== undefined) request.setSignal(options.signal())
      await authenticate(async () => {
        await authMethods.default?.applySecurityAuthentication(request)
        await connections.reuse(request)
      })
      const { httpStatusCode: status, body: answer } = await httpApi.send(request).toPromise()
      return { status, body: await answer.text() }
    },
    watch: (path, query, onEvent, done) => watch.watch(path, query, onEvent, done),
  }
}

class ConfigurationOnly {
  readonly configuration: ClientNodeConfiguration

  constructor(configuration: ClientNodeConfiguration) {
    this.configuration = configuration
  }
}

/** A token that cannot be had, a login program that fails: nothing is sent without it. */
async function authenticate(action: () => Promise<void>): Promise<void> {
  try {
    await action()
  } catch (cause) {
    const words = cause instanceof Error ? cause.message : String(cause)
    throw Object.assign(new Error(`no credentials: ${words}`, { cause }), { code: 'NOT_SENT' })
  }
}
