import { type KindInfo, type KubeObject, type LabelSelector, matchesLabels } from 'ipam-kit/crd/meta'
import type { ExternalResult } from 'ipam-kit/plan'
import type { CloudIdentity } from 'ipam-kit/provider/openstack'
import type { Store } from 'ipam-kit/store'
import type { Load } from '../open-store.js'

const core = { apiVersion: 'v1', statusSubresource: false } as const
export const SECRET: KindInfo = { ...core, kind: 'Secret', plural: 'secrets', namespaced: true }
export const NAMESPACE: KindInfo = { ...core, kind: 'Namespace', plural: 'namespaces', namespaced: false }
/** Credentials for several namespaces, of cluster-api-provider-openstack. */
export const CLUSTER_IDENTITY: KindInfo = {
  apiVersion: 'infrastructure.cluster.x-k8s.io/v1alpha1',
  kind: 'OpenStackClusterIdentity',
  plural: 'openstackclusteridentities',
  namespaced: false,
  statusSubresource: false,
}

/** The key of a Secret that has the credentials. */
const KEY = 'clouds.yaml'
/** For so long a Secret that was read is not read again, in milliseconds. */
const KEPT_MS = 30_000

export interface CredentialsOptions {
  readonly store: Pick<Store, 'get'>
  /** Parses YAML. */
  readonly parse: (text: string) => unknown
  readonly now: () => number
  /** Whether an OpenStackClusterIdentity can be named. */
  readonly clusterIdentities: boolean
}

/** The parser that @kubernetes/client-node brings with it. */
export async function loadYamlParser(load: Load): Promise<(text: string) => unknown> {
  try {
    return (await load<{ load(text: string): unknown }>('js-yaml')).load
  } catch {
    // without the client there is no store either, and that is told when it is opened
    return () => {
      throw new Error('the package js-yaml is not installed')
    }
  }
}

/**
 * Reads credentials from Secrets, with a right to `get` alone. No text of a Secret is in a message.
 */
export class Credentials {
  readonly #options: CredentialsOptions
  readonly #known = new Map<string, { readonly value: Promise<ExternalResult<unknown>>; readonly untilMs: number }>()

  constructor(options: CredentialsOptions) {
    this.#options = options
  }

  /** What clouds.yaml of an identity says. Calls that come at once share one read. */
  readonly read = async (identity: CloudIdentity): Promise<ExternalResult<unknown>> => {
    const key = JSON.stringify([identity.type, identity.namespace, identity.name])
    const nowMs = this.#options.now()
    const known = this.#known.get(key)
    if (known !== undefined && nowMs < known.untilMs) return known.value
    for (const [old, { untilMs }] of this.#known) if (untilMs <= nowMs) this.#known.delete(old)
    const value = this.#find(identity)
    this.#known.set(key, { value, untilMs: nowMs + KEPT_MS })
    const forget = () => this.#known.get(key)?.value === value && this.#known.delete(key)
    // what is wrong with it may be put right at any time
    value.then(({ ok }) => ok || forget(), forget)
    return value
  }

  async #find({ type, namespace, name }: CloudIdentity): Promise<ExternalResult<unknown>> {
    if (type === 'Secret') return this.#readSecret(namespace, name)
    if (!this.#options.clusterIdentities) return notReady('identityRef.type ClusterIdentity needs --cluster-identities')
    const found = await this.#get(CLUSTER_IDENTITY, { name })
    if (!found.ok) return found
    const { secretRef, namespaceSelector } = (found.value as ClusterIdentity).spec ?? {}
    const { name: secret, namespace: of } = secretRef ?? {}
    if (typeof secret !== 'string' || typeof of !== 'string') {
      return notReady(`OpenStackClusterIdentity ${name} names no Secret`)
    }
    if (namespaceSelector !== undefined && namespaceSelector !== null) {
      const own = await this.#get(NAMESPACE, { name: namespace })
      if (!own.ok) return own
      if (!matchesLabels(namespaceSelector, own.value.metadata.labels)) {
        return notReady(`OpenStackClusterIdentity ${name} is not for namespace ${namespace}`)
      }
    }
    return this.#readSecret(of, secret)
  }

  async #readSecret(namespace: string, name: string): Promise<ExternalResult<unknown>> {
    const found = await this.#get(SECRET, { namespace, name })
    if (!found.ok) return found
    const encoded = (found.value as Secret).data?.[KEY]
    if (typeof encoded !== 'string') return notReady(`Secret ${namespace}/${name} has no ${KEY}`)
    try {
      return { ok: true, value: this.#options.parse(Buffer.from(encoded, 'base64').toString('utf8')) }
    } catch {
      // the error of a parser shows the line that it does not understand
      return notReady(`${KEY} of Secret ${namespace}/${name} is not YAML`)
    }
  }

  async #get(
    { apiVersion, kind }: KindInfo,
    place: { readonly namespace?: string; readonly name: string },
  ): Promise<ExternalResult<KubeObject>> {
    const found = await this.#options.store.get({ apiVersion, kind, ...place })
    return found.ok ? found : notReady(found.failure.message)
  }
}

interface Secret extends KubeObject {
  readonly data?: { readonly [key: string]: unknown } | undefined
}

interface ClusterIdentity extends KubeObject {
  readonly spec?: {
    readonly secretRef?: { readonly name?: unknown; readonly namespace?: unknown }
    readonly namespaceSelector?: LabelSelector | null
  }
}

function notReady(message: string): ExternalResult<never> {
  return { ok: false, failure: { message, retryable: true, reason: 'PoolNotReady' } }
}
