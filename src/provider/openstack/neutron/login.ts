import * as z from 'zod'
import type { Json } from '../../../crd/meta/object.js'
import { plain, quote } from '../../../errors/quote.js'
import { failCall } from './failure.js'

/** The location of the credentials of a pool or a server: its `identityRef` with its namespace. */
export interface CloudIdentity {
  /**
   * `ClusterIdentity` is a cluster-scoped object of Cluster API's OpenStack provider that names a
   * Secret.
   */
  readonly type: 'Secret' | 'ClusterIdentity'
  readonly name: string
  /** The namespace of the pool or the server. */
  readonly namespace: string
  /** The entry of clouds.yaml. */
  readonly cloudName: string
}

/** The access data of an OpenStack project. */
export interface Login {
  /** The URL of Keystone, with `/v3`. */
  readonly authUrl: string
  /** `auth` of the request for a token. */
  readonly auth: Json
  /** Texts that must not appear in a message. */
  readonly secrets: readonly string[]
  /** Empty: any. */
  readonly region: string
  readonly interface: 'public' | 'internal' | 'admin'
  /** The endpoint of Neutron, instead of the one in the catalog; empty: that of the catalog. */
  readonly networkEndpoint: string
}

const text = z.string().min(1)
const optional = z.string().optional()

const ACCESS = z.looseObject({
  namespace: text,
  identityRef: z.looseObject({
    type: z.enum(['Secret', 'ClusterIdentity']).default('Secret'),
    name: text,
    cloudName: text,
    region: optional,
  }),
})

/** @throws CallFailure for an `access` that is not `{ identityRef, namespace }` */
export function identityOf(access: Json): CloudIdentity & { readonly region: string } {
  const read = ACCESS.safeParse(access)
  if (!read.success) return notReady(`identityRef of the pool cannot be used: ${problemOf(read.error)}`)
  const { namespace, identityRef } = read.data
  const { type, name, cloudName, region = '' } = identityRef
  return { type, name, namespace, cloudName, region }
}

const AUTH = z.looseObject({
  auth_url: text,
  username: optional,
  user_id: optional,
  password: optional,
  project_name: optional,
  project_id: optional,
  tenant_name: optional,
  tenant_id: optional,
  domain_name: optional,
  domain_id: optional,
  user_domain_name: optional,
  user_domain_id: optional,
  project_domain_name: optional,
  project_domain_id: optional,
  application_credential_id: optional,
  application_credential_name: optional,
  application_credential_secret: optional,
})
type Auth = z.infer<typeof AUTH>

const CLOUD = z.looseObject({
  auth: AUTH,
  auth_type: optional,
  region_name: optional,
  interface: z.string().optional(),
  endpoint_type: z.string().optional(),
  network_endpoint_override: optional,
})

const CLOUDS = z.looseObject({ clouds: z.record(z.string(), z.unknown()) })

/**
 * Reads a cloud from clouds.yaml.
 *
 * @param parsed the whole file, parsed
 * @throws CallFailure for an unusable entry; its message has names of fields and no values
 */
export function loginOf(
  parsed: unknown,
  { cloudName, region, name }: CloudIdentity & { readonly region: string },
): Login {
  const where = `clouds.yaml of ${quote(name)}`
  const clouds = CLOUDS.safeParse(parsed)
  if (!clouds.success) return notReady(`${where}: ${problemOf(clouds.error)}`)
  if (!Object.hasOwn(clouds.data.clouds, cloudName)) return notReady(`${where} has no cloud ${quote(cloudName)}`)
  const read = CLOUD.safeParse(clouds.data.clouds[cloudName])
  const at = `${where}: cloud ${quote(cloudName)}`
  if (!read.success) return notReady(`${at}: ${problemOf(read.error)}`)
  const { auth, auth_type, region_name = '', network_endpoint_override = '', endpoint_type } = read.data
  const asked = (read.data.interface ?? endpoint_type ?? 'public').replace(/URL$/u, '')
  if (asked !== 'public' && asked !== 'internal' && asked !== 'admin') return notReady(`${at}: unknown interface`)
  return {
    authUrl: keystoneUrl(auth.auth_url),
    ...credentialsOf(auth, auth_type, at),
    region: region || region_name,
    interface: asked,
    networkEndpoint: network_endpoint_override,
  }
}

function credentialsOf(auth: Auth, authType: string | undefined, at: string): Pick<Login, 'auth' | 'secrets'> {
  const type = authType?.replace(/^v3/u, '').replace('_', '')
  if (type !== undefined && !['password', 'applicationcredential', ''].includes(type)) {
    return notReady(
      `${at}: auth_type ${quote(authType ?? '')} is not supported: password or v3applicationcredential is`,
    )
  }
  const { application_credential_secret: secret } = auth
  if (type === 'applicationcredential' || (!type && secret !== undefined)) return applicationCredential(auth, at)
  const { password } = auth
  if (password === undefined) return notReady(`${at}: auth has neither password nor application_credential_secret`)
  const user = userOf(auth, at)
  const identity = { methods: ['password'], password: { user: { ...user, password } } }
  return { auth: { identity, scope: { project: projectOf(auth, at) } }, secrets: [password] }
}

function applicationCredential(auth: Auth, at: string): Pick<Login, 'auth' | 'secrets'> {
  const {
    application_credential_secret: secret,
    application_credential_id: id,
    application_credential_name: name,
  } = auth
  if (secret === undefined) return notReady(`${at}: auth has no application_credential_secret`)
  if (id === undefined && name === undefined) {
    return notReady(`${at}: auth has neither application_credential_id nor application_credential_name`)
  }
  // the project is that of the credential: Keystone refuses a scope
  const credential = id === undefined ? { name: name ?? '', user: userOf(auth, at), secret } : { id, secret }
  const identity = { methods: ['application_credential'], application_credential: credential }
  return { auth: { identity }, secrets: [secret] }
}

function userOf(auth: Auth, at: string): { readonly [name: string]: Json } {
  if (auth.user_id) return { id: auth.user_id }
  if (!auth.username) return notReady(`${at}: auth has neither username nor user_id`)
  const { user_domain_id = auth.domain_id, user_domain_name = auth.domain_name } = auth
  return { name: auth.username, domain: domainOf(user_domain_id, user_domain_name) }
}

function projectOf(auth: Auth, at: string): { readonly [name: string]: Json } {
  const { project_id = auth.tenant_id, project_name = auth.tenant_name } = auth
  if (project_id) return { id: project_id }
  if (!project_name) return notReady(`${at}: auth has neither project_name nor project_id`)
  const { project_domain_id = auth.domain_id, project_domain_name = auth.domain_name } = auth
  return { name: project_name, domain: domainOf(project_domain_id, project_domain_name) }
}

/** The id of Keystone's own default domain is `default`. */
function domainOf(id: string | undefined, name: string | undefined): { readonly [name: string]: Json } {
  if (id) return { id }
  return name ? { name } : { id: 'default' }
}

function keystoneUrl(url: string): string {
  return `${url.replace(/\/+$/u, '').replace(/\/v(2\.0|3)$/u, '')}/v3`
}

function notReady(message: string): never {
  return failCall(message, { retryable: true, reason: 'PoolNotReady' })
}

/** The first problem in a zod error, by its path. */
function problemOf({ issues }: z.ZodError): string {
  const [issue] = issues
  const path = issue?.path.map(String).join('.') ?? ''
  return plain(path === '' ? 'it is not an object' : `${path} is missing or of another type`)
}
