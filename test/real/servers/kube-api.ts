import { request as httpsRequest } from 'node:https'
import { paced } from '../pace.js'
import { waitFor } from './tools.js'

/** What a client of an API server needs, PEM. */
export interface KubeAccess {
  readonly url: string
  readonly ca: string
  readonly clientCert: string
  readonly clientKey: string
}

export interface KubeAnswer<T> {
  readonly status: number
  /** JSON as a value, anything else as text. */
  readonly body: T
}

export interface KubeRequest {
  readonly body?: unknown
  /** application/json if not given. */
  readonly contentType?: string
}

/** As much of an object of Kubernetes as `apply` looks at. */
export interface AnyObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined }
}

interface CustomResourceDefinition extends AnyObject {
  readonly spec: {
    readonly group: string
    readonly names: { readonly plural: string }
    readonly versions: readonly { readonly name: string; readonly served: boolean }[]
  }
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
}

const ANSWER_SECONDS = 30
const SERVED_SECONDS = 30

/** An API server over plain HTTPS: a document arrives as it was written, with every field. */
export class KubeApi {
  readonly #access: KubeAccess

  constructor(access: KubeAccess) {
    this.#access = access
  }

  /**
   * One request, on a connection of its own. Any answer of the server is an answer, an error of it
   * too.
   */
  request<T = unknown>(method: string, path: string, options: KubeRequest = {}): Promise<KubeAnswer<T>> {
    const { url, ca, clientCert: cert, clientKey: key } = this.#access
    const { body, contentType = 'application/json' } = options
    return new Promise((resolve, reject) => {
      const headers = { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': contentType }) }
      const request = httpsRequest(`${url}${path}`, { method, headers, ca, cert, key, agent: false }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (more: string) => {
          text += more
        })
        response.once('error', reject)
        response.once('end', () => {
          const isJson = /\bjson\b/.test(response.headers['content-type'] ?? '')
          resolve({ status: response.statusCode!, body: isJson ? JSON.parse(text) : text })
        })
      })
      const limit = paced(ANSWER_SECONDS)
      request.setTimeout(limit * 1000, () => {
        request.destroy(new Error(`${method} ${path}: no answer within ${limit} s`))
      })
      request.once('error', reject)
      request.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  /**
   * Creates an object of any kind, or changes it to what is given, by server-side apply. A
   * CustomResourceDefinition is served when this is done.
   *
   * @param options `strict`: a member that the kind does not have, or that is given twice, is an
   *   error
   * @returns the object as the server has it now
   * @throws Error if the server refuses it
   */
  async apply<T extends AnyObject>(object: T, { strict = false } = {}): Promise<T> {
    const validation = strict ? '&fieldValidation=Strict' : ''
    const path = `${await this.#pathOf(object)}?fieldManager=ipam-kit-test&force=true${validation}`
    const answer = await this.request<T & { message?: string }>('PATCH', path, {
      body: object,
      contentType: 'application/apply-patch+yaml',
    })
    if (answer.status >= 300) {
      throw new Error(`${object.kind} ${object.metadata.name}: ${answer.status} ${answer.body.message ?? ''}`)
    }
    if (isDefinition(answer.body)) await this.#served(answer.body)
    return answer.body
  }

  async #pathOf({ apiVersion, kind, metadata: { name, namespace = 'default' } }: AnyObject): Promise<string> {
    const base = `/${apiVersion.includes('/') ? 'apis' : 'api'}/${apiVersion}`
    const { resources } = await this.#ok<{ resources: { kind: string; name: string; namespaced: boolean }[] }>(base)
    const resource = resources.find((each) => each.kind === kind && !each.name.includes('/'))
    if (resource === undefined) throw new Error(`the API server does not know ${apiVersion} ${kind}`)
    return `${base}${resource.namespaced ? `/namespaces/${namespace}` : ''}/${resource.name}/${name}`
  }

  /**
   * An accepted definition is not served at once: it is established first, then listed by
   * discovery, then it has objects.
   */
  async #served({ metadata, spec }: CustomResourceDefinition): Promise<void> {
    const { group, names, versions } = spec
    const self = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata.name}`
    await waitFor(
      async () => {
        const { status } = await this.#ok<CustomResourceDefinition>(self)
        const established = status?.conditions?.some((each) => each.type === 'Established' && each.status === 'True')
        if (established !== true) return undefined
        for (const { name } of versions.filter((version) => version.served)) {
          const { resources } = await this.#ok<{ resources: { name: string }[] }>(`/apis/${group}/${name}`)
          if (!resources.some((each) => each.name === names.plural)) return undefined
          await this.#ok(`/apis/${group}/${name}/${names.plural}?limit=1`)
        }
        return true
      },
      { seconds: SERVED_SECONDS, else: `${metadata.name} is not served` },
    )
  }

  async #ok<T>(path: string): Promise<T> {
    const { status, body } = await this.request<T>('GET', path)
    if (status !== 200) throw new Error(`GET ${path}: ${status}`)
    return body
  }
}

function isDefinition(object: AnyObject): object is CustomResourceDefinition {
  return object.kind === 'CustomResourceDefinition' && object.apiVersion.startsWith('apiextensions.k8s.io/')
}

/** A kubeconfig with everything inside. JSON, which is YAML too. */
export function kubeconfigOf({ url, ca, clientCert, clientKey }: KubeAccess): string {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
    clusters: [{ name: 'test', cluster: { server: url, 'certificate-authority-data': base64(ca) } }],
    users: [
      { name: 'admin', user: { 'client-certificate-data': base64(clientCert), 'client-key-data': base64(clientKey) } },
    ],
  }
  return `${JSON.stringify(config, null, 2)}\n`
}
