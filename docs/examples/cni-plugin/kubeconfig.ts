import { readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** An API server and its credentials, of the current context of a kubeconfig. */
export interface KubeServer {
  readonly url: string
  /** Of the context; empty: none. */
  readonly namespace: string
  /** PEM. */
  readonly ca: string | undefined
  readonly cert: string | undefined
  readonly key: string | undefined
  readonly isUnverified: boolean
  readonly serverName: string | undefined
  readonly headers: { readonly [name: string]: string }
  /** Whatever has been read: another version of any of them can be another server. */
  readonly files: readonly string[]
}

interface Entry {
  readonly name?: unknown
  readonly [member: string]: unknown
}

/**
 * Reads a kubeconfig: certificates and tokens in the file or in files beside it. Programs that give
 * credentials are not started: a plugin has to answer at once. A file with credentials must not be
 * readable by other users.
 *
 * @throws Error with one sentence
 */
export async function readKubeconfig(file: string): Promise<KubeServer> {
  const config = (await contentOf(file)) as { readonly [member: string]: unknown } | null
  const named = (list: string, name: unknown, part: string): { readonly [member: string]: unknown } => {
    const entries = config?.[list]
    const entry = Array.isArray(entries) ? (entries as readonly Entry[]).find((each) => each?.name === name) : undefined
    const value = entry?.[part]
    if (typeof value !== 'object' || value === null) throw new Error(`${file}: ${list} has no ${String(name)}`)
    return value as { readonly [member: string]: unknown }
  }
  const context = named('contexts', config?.['current-context'], 'context')
  const cluster = named('clusters', context.cluster, 'cluster')
  const user = named('users', context.user, 'user')
  if (user.exec !== undefined || user['auth-provider'] !== undefined) {
    throw new Error(`${file}: a program that gives credentials is not supported`)
  }
  const pathOf = (of: { readonly [member: string]: unknown }, member: string) => {
    const path = textOf(of[member])
    return path === undefined ? undefined : resolve(dirname(file), path)
  }
  const content = (of: { readonly [member: string]: unknown }, member: string): string | undefined => {
    const [data, path] = [textOf(of[`${member}-data`]), pathOf(of, member)]
    if (data !== undefined) return Buffer.from(data, 'base64').toString()
    return path === undefined ? undefined : readFileSync(path, 'utf8')
  }
  if (textOf(user.token) !== undefined || textOf(user['client-key-data']) !== undefined) assertSecret(file)
  const secrets = [pathOf(user, 'tokenFile'), pathOf(user, 'client-key')].filter((path) => path !== undefined)
  for (const path of secrets) assertSecret(path)
  const others = [pathOf(cluster, 'certificate-authority'), pathOf(user, 'client-certificate')]
  const url = textOf(cluster.server)
  if (url === undefined) throw new Error(`${file}: the cluster has no server`)
  return {
    url: url.replace(/\/+$/, ''),
    namespace: textOf(context.namespace) ?? '',
    ca: content(cluster, 'certificate-authority'),
    cert: content(user, 'client-certificate'),
    key: content(user, 'client-key'),
    isUnverified: cluster['insecure-skip-tls-verify'] === true,
    serverName: textOf(cluster['tls-server-name']),
    headers: headersOf(user, file),
    files: [file, ...secrets, ...others.filter((path) => path !== undefined)],
  }
}

function headersOf(user: { readonly [member: string]: unknown }, file: string): { readonly [name: string]: string } {
  const path = textOf(user.tokenFile)
  const token = path === undefined ? textOf(user.token) : readFileSync(resolve(dirname(file), path), 'utf8').trim()
  const as = textOf(user.as)
  return {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(as === undefined ? {} : { 'impersonate-user': as }),
  }
}

/** No message has a part of the text: it has credentials. */
async function contentOf(file: string): Promise<unknown> {
  const text = readFileSync(file, 'utf8')
  try {
    return JSON.parse(text)
  } catch {
    // a process that reads JSON starts faster
    const { parse } = await import('yaml')
    try {
      return parse(text, { logLevel: 'error' })
    } catch {
      throw new Error(`${file}: it is not YAML`)
    }
  }
}

/** The plugin runs as root on each node: its token is for root alone. */
function assertSecret(file: string): void {
  if ((statSync(file).mode & 0o077) !== 0) throw new Error(`${file}: other users can read its credentials: chmod 600`)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
