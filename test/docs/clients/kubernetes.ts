import { ApiServerModel } from '../../store/kubernetes-model.js'
import type { Clients } from './clients.js'

/** As much of client-node as `fromClientNode` uses, over the model of an API server. */
export const kubernetes: Clients = {
  '@kubernetes/client-node': async () => {
    const scope = { namespaced: true, statusSubresource: false }
    const apiVersion = 'ipam.cluster.x-k8s.io/v1beta2'
    const server = new ApiServerModel([{ apiVersion, kind: 'IPAddress', plural: 'ipaddresses', ...scope }])

    class KubeConfig {
      loadFromDefault(): void {}

      makeApiClient<T extends object>(type: new (configuration: never) => T): T {
        return new type({
          baseServer: { makeRequestContext: (path: string, method: string) => new RequestContext(path, method) },
          httpApi: { send: (request: RequestContext) => ({ toPromise: () => request.answer() }) },
          authMethods: {},
        } as never)
      }
    }

    class RequestContext {
      readonly #path: string
      readonly #method: string
      readonly #headers: { [name: string]: string } = {}
      #body: string | undefined

      constructor(path: string, method: string) {
        this.#path = path
        this.#method = method
      }

      setHeaderParam(name: string, value: string): void {
        this.#headers[name] = value
      }

      setBody(body: string): void {
        this.#body = body
      }

      setSignal(): void {}

      async answer() {
        const request = { method: this.#method as 'GET', path: this.#path, headers: this.#headers, body: this.#body }
        const { status, body } = await server.request(request)
        return { httpStatusCode: status, body: { text: async () => body } }
      }
    }

    class Watch {
      watch(...given: Parameters<ApiServerModel['watch']>) {
        return server.watch(...given)
      }
    }

    return { KubeConfig, Watch }
  },
}
