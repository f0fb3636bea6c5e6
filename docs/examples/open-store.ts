import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import type { KindInfo } from 'ipam-kit/crd/meta'
import { now, sleep, timers, uid } from 'ipam-kit/node'
import type { Store } from 'ipam-kit/store'
import { etcdGateway, etcdStore } from 'ipam-kit/store/etcd'
import {
  type ClientNodeConfig,
  type ClientNodeWatch,
  fromClientNode,
  type KubernetesClient,
  kubernetesStore,
} from 'ipam-kit/store/kubernetes'
import { migratePostgres, type PostgresClient, postgresStore } from 'ipam-kit/store/postgres'
import { redisStore } from 'ipam-kit/store/redis'
import { migrateSqlite, type SqliteDatabase, sqliteStore } from 'ipam-kit/store/sqlite'

/** Where objects are kept. */
export interface StoreAddress {
  readonly engine: 'pglite' | 'sqlite' | 'postgres' | 'redis' | 'etcd' | 'kubernetes'
  /**
   * A folder (pglite), a file (sqlite), a URL (of etcd several, with commas between), a context of
   * the kubeconfig (empty: the current one).
   */
  readonly place: string
}

export interface OpenStore {
  readonly store: Store
  close(): Promise<void>
}

/** How a client package is loaded: `(name) => import(name)`, from wherever the packages are. */
export type Load = <T>(name: string) => Promise<T>

export interface OpenOptions {
  /** What the store will be asked for. */
  readonly kinds: readonly KindInfo[]
  readonly load: Load
  /**
   * After this many seconds a server gives up a write by itself. Of Kubernetes alone. Default: when
   * it does so without being told.
   */
  readonly writeTimeoutSeconds?: number | undefined
  /** Where relative names of files and folders begin. Default: the working directory. */
  readonly folder?: string | undefined
}

/** A store that could not be opened, with a message for people. */
export class StoreNotOpened extends Error {
  override readonly name = 'StoreNotOpened'
  readonly why: 'client-missing' | 'kinds-missing' | 'failed'

  constructor(why: StoreNotOpened['why'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.why = why
  }
}

/** How long a server may take to answer, in milliseconds. */
const PATIENCE_MS = 10_000
/** How long one request may take: the client itself waits for ever. */
const REQUEST_MS = 30_000

/**
 * Opens a store over a client of its own and asks it for something, so that a server that cannot
 * be reached is told here.
 *
 * @throws StoreNotOpened
 */
export async function openStore(address: StoreAddress, options: OpenOptions): Promise<OpenStore> {
  const { engine } = address
  let opened: OpenStore | undefined
  try {
    opened = await OPENERS[engine](address.place, { engine, now, uid, sleep, ...options })
    const [first] = options.kinds
    if (first === undefined) return opened
    const listed = await inTime(opened.store.list({ apiVersion: first.apiVersion, kind: first.kind }, { limit: 1 }))
    if (listed.ok) return opened
    const { failure } = listed
    const words = failure.code === 'STORE_IO' ? failure.context.problem : failure.message
    throw new Error(words, { cause: failure.cause })
  } catch (error) {
    await opened?.close().catch(() => {})
    if (error instanceof StoreNotOpened) throw error
    const message = `${formatAddress(address)} cannot be opened: ${withoutSecrets(wordsOf(error), address)}`
    throw new StoreNotOpened('failed', message, { cause: error })
  }
}

/** The address as it may be shown. */
export function formatAddress({ engine, place }: StoreAddress): string {
  if (place === '') return engine
  return withoutSecrets(/^\w+:\/\//.test(place) && engine !== 'etcd' ? place : `${engine}:${place}`)
}

/**
 * A text without user and password of the URLs in it: rather too much is left out than too little.
 */
export function withoutSecrets(text: string, address?: StoreAddress): string {
  const [, user = ''] = /:\/\/(.*)@/.exec(address?.place ?? '') ?? []
  const [, password = ''] = /^.*?:(.*)$/.exec(user) ?? []
  const known = [password, unescaped(password)].filter((secret) => secret !== '')
  return known
    .reduce((rest, secret) => rest.replaceAll(secret, '***'), text)
    .replace(/:\/\/.*@/g, '://***@')
    .replace(/([?&](?:ssl)?password=)[^\s'"&]*/gi, '$1***')
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

interface Parts extends OpenOptions {
  readonly engine: string
  now(): number
  uid(): string
  sleep(ms: number): Promise<unknown>
}

/** The options that every store of its own rules takes. */
function optionsOf({ now, uid, sleep, kinds }: Parts) {
  return { now, uid, sleep, kinds }
}

const OPENERS: { readonly [E in StoreAddress['engine']]: (place: string, parts: Parts) => Promise<OpenStore> } = {
  pglite: openPglite,
  sqlite: openSqlite,
  postgres: openPostgres,
  redis: openRedis,
  etcd: openEtcd,
  kubernetes: openKubernetes,
}

// What is used of the clients: the interfaces of the stores, and what makes and ends them.

interface Pglite extends PostgresClient {
  close(): Promise<void>
}

async function openPglite(place: string, parts: Parts): Promise<OpenStore> {
  const { PGlite } = await loadClient<{ PGlite: { create(folder: string): Promise<Pglite> } }>(
    '@electric-sql/pglite',
    parts,
  )
  const database = await PGlite.create(resolve(parts.folder ?? '.', place))
  await migratePostgres(database)
  return { store: postgresStore(database, optionsOf(parts)), close: () => database.close() }
}

interface PgPool extends PostgresClient {
  on(event: 'error', listener: () => void): unknown
  end(): Promise<void>
}

async function openPostgres(place: string, parts: Parts): Promise<OpenStore> {
  const { default: pg } = await loadClient<{ default: { Pool: new (settings: object) => PgPool } }>('pg', parts)
  // the server ends a statement that takes too long: a client that gives up (query_timeout) would
  // not know of a write that comes later
  const limits = { connectionTimeoutMillis: PATIENCE_MS, statement_timeout: PATIENCE_MS }
  const pool = new pg.Pool({ connectionString: place, max: 2, ...limits })
  // an idle connection may end, and without a listener that ends the process
  pool.on('error', () => {})
  try {
    await migratePostgres(pool)
  } catch (error) {
    await pool.end()
    throw error
  }
  return { store: postgresStore(pool, optionsOf(parts)), close: () => pool.end() }
}

type Closable = SqliteDatabase & { close(): void }

async function openSqlite(place: string, parts: Parts): Promise<OpenStore> {
  const Database = await sqliteClass(parts)
  const database = openDatabase(Database, resolve(parts.folder ?? '.', place))
  try {
    migrateSqlite(database)
    return { store: sqliteStore(database, optionsOf(parts)), close: async () => database.close() }
  } catch (error) {
    database.close()
    throw error
  }
}

/** node:sqlite is in Node from 22.13 on, and in 22.5 behind a flag. */
async function sqliteClass(parts: Parts): Promise<new (file: string) => Closable> {
  try {
    return (await parts.load<{ DatabaseSync: new (file: string) => Closable }>('node:sqlite')).DatabaseSync
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  const orElse = ', or run Node 22.13 or later, which has SQLite inside'
  return (await loadClient<{ default: new (file: string) => Closable }>('better-sqlite3', { ...parts, orElse })).default
}

function openDatabase(Database: new (file: string) => Closable, file: string): Closable {
  try {
    return new Database(file)
  } catch (error) {
    if (!wordsOf(error).includes('bindings')) throw error
    const message = 'better-sqlite3 is installed and not built for this Node: npm rebuild better-sqlite3'
    throw new StoreNotOpened('client-missing', message, { cause: error })
  }
}

interface IoRedis {
  call(command: string, ...args: string[]): Promise<unknown>
  on(event: 'error', listener: (error: unknown) => void): unknown
  connect(): Promise<unknown>
  disconnect(): void
}

interface NodeRedis {
  sendCommand(args: string[]): Promise<unknown>
  on(event: 'error', listener: () => void): unknown
  connect(): Promise<unknown>
  destroy(): void
}

async function openRedis(place: string, parts: Parts): Promise<OpenStore> {
  // a server that is not there when the store is opened is not waited for
  let isOpen = false
  const retry = <T>(otherwise: T) => (isOpen ? 200 : otherwise)
  try {
    const { Redis } = await parts.load<{ Redis: new (url: string, settings: object) => IoRedis }>('ioredis')
    const limits = { maxRetriesPerRequest: 1, connectTimeout: PATIENCE_MS, commandTimeout: PATIENCE_MS }
    const client = new Redis(place, { ...limits, lazyConnect: true, retryStrategy: () => retry(null) })
    let last: unknown
    client.on('error', (error) => {
      last = error
    })
    await client.connect().catch((error) => {
      client.disconnect()
      throw last ?? error
    })
    isOpen = true
    return { store: redisStore(client, optionsOf(parts)), close: async () => client.disconnect() }
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  const orElse = ' (or redis)'
  await parts.load('redis').catch(() => loadClient('ioredis', { ...parts, orElse }))
  const { createClient } = await parts.load<{ createClient(settings: object): NodeRedis }>('redis')
  // a server that is silent is left after a while; a ping keeps an idle connection from being taken
  // for one
  const socket = { connectTimeout: PATIENCE_MS, socketTimeout: PATIENCE_MS, reconnectStrategy: () => retry(false) }
  const client = createClient({ url: place, socket, disableOfflineQueue: true, pingInterval: 1_000 })
  client.on('error', () => {})
  await client.connect()
  isOpen = true
  return { store: redisStore(client, optionsOf(parts)), close: async () => client.destroy() }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function fromBase64(text: string): string {
  return utf8.decode(Buffer.from(text, 'base64'))
}

async function openEtcd(place: string, parts: Parts): Promise<OpenStore> {
  const patient: Parameters<typeof etcdGateway>[0]['fetch'] = (url, request) =>
    fetch(url, url.endsWith('/watch') ? request : { ...request, signal: AbortSignal.timeout(PATIENCE_MS) })
  const client = etcdGateway({
    fetch: patient,
    url: place.split(','),
    fromBase64,
    abortController: () => new AbortController(),
  })
  return { store: etcdStore(client, optionsOf(parts)), close: async () => {} }
}

interface KubeConfig extends ClientNodeConfig {
  loadFromDefault(): void
  getContexts(): readonly { readonly name: string }[]
  getCurrentContext(): string
  setCurrentContext(name: string): void
}

interface ClientNode {
  readonly KubeConfig: new () => KubeConfig
  readonly Watch: new (config: ClientNodeConfig) => ClientNodeWatch
}

async function openKubernetes(context: string, parts: Parts): Promise<OpenStore> {
  const { kinds, sleep, writeTimeoutSeconds } = parts
  const { KubeConfig, Watch } = await loadClient<ClientNode>('@kubernetes/client-node', parts)
  const config = new KubeConfig()
  // without a file the client would take http://localhost:8080
  const files = (process.env.KUBECONFIG || join(homedir(), '.kube', 'config')).split(delimiter)
  if (!files.some((file) => existsSync(file)) && process.env.KUBERNETES_SERVICE_HOST === undefined) {
    throw new Error(`there is no kubeconfig: ${files.join(', ')}`)
  }
  try {
    config.loadFromDefault()
  } catch (error) {
    const found = files.filter((file) => existsSync(file)).join(', ') || 'service account'
    throw new Error(`the kubeconfig cannot be read: ${found}`, { cause: error })
  }
  const names = config.getContexts().map(({ name }) => name)
  if (context !== '') config.setCurrentContext(context)
  if (!names.includes(config.getCurrentContext())) {
    const problem =
      context === '' ? 'the kubeconfig has no current context' : `the kubeconfig has no context ${context}`
    throw new Error(`${problem}; its contexts: ${names.join(', ') || 'none'}`)
  }
  const signal = () => AbortSignal.timeout(REQUEST_MS)
  const client = fromClientNode(config, new Watch(config), { signal })
  const missing = await inTime(kindsMissingIn(client, kinds))
  if (missing.length > 0) {
    const lines = missing.map(({ apiVersion, kind, plural }) => `  ${apiVersion} ${kind} (${plural})`)
    throw new StoreNotOpened('kinds-missing', `the API server does not have these kinds:\n${lines.join('\n')}`)
  }
  return { store: kubernetesStore(client, { sleep, kinds, writeTimeoutSeconds }), close: async () => {} }
}

/** The kinds that an API server does not serve, in the version that is asked for. */
async function kindsMissingIn(client: KubernetesClient, kinds: readonly KindInfo[]): Promise<readonly KindInfo[]> {
  const served = new Map<string, readonly string[]>()
  for (const apiVersion of new Set(kinds.map((kind) => kind.apiVersion))) {
    const path = `/${apiVersion.includes('/') ? 'apis' : 'api'}/${apiVersion}`
    const { status, body } = await client.request({ method: 'GET', path, headers: { accept: 'application/json' } })
    if (status !== 200 && status !== 404) throw new Error(`GET ${path}: ${status} ${body.slice(0, 300)}`)
    const { resources = [] } = (status === 200 ? JSON.parse(body) : {}) as { resources?: readonly { kind: string }[] }
    served.set(
      apiVersion,
      resources.map(({ kind }) => kind),
    )
  }
  return kinds.filter(({ apiVersion, kind }) => served.get(apiVersion)?.includes(kind) !== true)
}

/** client-node 2 needs Node 22: this version runs on Node 20 as well. */
const PINNED: { readonly [name: string]: string } = { '@kubernetes/client-node': '@kubernetes/client-node@1.4.0' }

/** @throws StoreNotOpened that says what to install */
async function loadClient<T>(name: string, parts: Parts & { readonly orElse?: string }): Promise<T> {
  try {
    return await parts.load<T>(name)
  } catch (error) {
    if (!isMissing(error)) throw error
    const { engine, orElse = '' } = parts
    const message = `${engine} needs a package that is not installed: npm install --no-save ${PINNED[name] ?? name}${orElse}`
    throw new StoreNotOpened('client-missing', message, { cause: error })
  }
}

function isMissing(error: unknown): boolean {
  return MISSING.has((error as { readonly code?: unknown }).code)
}

const MISSING: ReadonlySet<unknown> = new Set([
  'ERR_MODULE_NOT_FOUND',
  'MODULE_NOT_FOUND',
  'ERR_UNKNOWN_BUILTIN_MODULE',
])

/** Not every client gives up by itself. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  let cancel = () => {}
  const late = new Promise<never>((_, reject) => {
    cancel = timers.after(PATIENCE_MS, () => reject(new Error(`no answer within ${PATIENCE_MS / 1000} s`)))
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    cancel()
  }
}

/**
 * Some errors have no words of their own, only those of what caused them, or of the addresses that
 * were tried.
 */
function wordsOf(error: unknown): string {
  return [...new Set(eachWord(error))].join(': ') || 'an error without a message'
}

function* eachWord(error: unknown, depth = 0): Generator<string> {
  if (typeof error !== 'object' || error === null || depth > 5) return
  const { message, errors = [], cause, code } = error as Partial<AggregateError> & { readonly code?: unknown }
  if (message) yield message
  else if (errors.length === 0 && typeof code === 'string') yield code
  yield* eachWord(errors[0], depth + 1)
  yield* eachWord(cause, depth + 1)
}
