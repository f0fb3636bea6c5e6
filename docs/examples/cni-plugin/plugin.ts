import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CniAddRequest,
  type CniCheckRequest,
  type CniDelRequest,
  type CniGcRequest,
  type CniOutcome,
  type CniRequest,
  checkCniFamilies,
  cniErrorOf,
  readCniResult,
} from 'ipam-kit/cni'
import type { KindInfo } from 'ipam-kit/crd/meta'
import type { Failure, Result } from 'ipam-kit/errors'
import { now } from 'ipam-kit/node'
import type { Outcome, Task } from 'ipam-kit/plan'
import { cniOutcome, type WhereaboutsResult } from 'ipam-kit/provider/whereabouts'
import { type RunTaskOptions, runTask, type TaskResult } from 'ipam-kit/run'
import { CALL_LIMITS, openApiServer } from './api-server.js'
import type { Backend, BackendOptions, ContainerRequest, OpenStore, Place } from './backend.js'
import { type ClientLimits, timeIsOver } from './client.js'
import { isOwnNamespace } from './own-namespace.js'
import type { AttachmentStore } from './record.js'
import type { Plugin } from './serve.js'

export interface PluginOptions {
  readonly rules?: 'upstream' | undefined
  readonly sticky?: 'pod' | undefined
  /** Of the type `whereabouts`: the kinds that can own a claim which an ADD makes. Default none. */
  readonly claimOwners?: readonly KindInfo[] | undefined
  /** Left out: no record is kept. */
  readonly record?: AttachmentStore | undefined
  /** A file, for configurations that name none. */
  readonly kubeconfig?: string | undefined
  readonly nodeName: string
  /** Whether `CNI_NETNS` may be the namespace of the plugin itself. */
  readonly allowsOwnNamespace?: boolean | undefined
  /** Whether a path is the network namespace of the caller. Default: of this process. */
  readonly isOwnNamespace?: ((path: string) => boolean) | undefined
  /** Default: 30 s for a request, 110 s for the call. */
  readonly limits?: ClientLimits | undefined
  /** Default: the API server of the kubeconfig, for one call. */
  readonly openServer?: typeof openApiServer | undefined
}

/**
 * The IPAM plugin. `ipam.type` says what addresses are: `whereabouts`, rows of upstream's objects in
 * an API server; `ipam-kit`, rows of blocks there, or with `ipam.sqlite` rows of a file.
 */
export function cniPlugin(options: PluginOptions): Plugin {
  return async (request) => {
    if (request.command === 'VERSION') return { kind: 'done' }
    const backend = await backendOf(request, options)
    return backend.ok
      ? new Call(request, backend.value, options).run()
      : { kind: 'failed', error: cniErrorOf(backend.failure, { command: request.command }) }
  }
}

type Configured = Exclude<CniRequest, { readonly command: 'VERSION' }>

/** A process loads only the half of the program that it needs. */
async function backendOf(request: Configured, { rules, sticky, claimOwners }: PluginOptions): Promise<Result<Backend>> {
  const { config, command } = request
  const options: BackendOptions = {
    use: command === 'ADD' || command === 'STATUS' ? 'allocate' : 'release',
    args: 'args' in request ? Object.fromEntries(request.args.values) : {},
    rules,
    sticky,
    claimOwners,
  }
  if (config.ipam?.type === 'ipam-kit' && config.ipam.sqlite !== undefined) {
    const { sqliteBackend } = await import('./backend-sqlite.js')
    return sqliteBackend(config, options)
  }
  if (config.ipam?.type === 'ipam-kit') {
    const { blocksBackend } = await import('./backend-blocks.js')
    return blocksBackend(config, options)
  }
  const { whereaboutsBackend } = await import('./backend-whereabouts.js')
  return whereaboutsBackend(config, options)
}

/** One call of the runtime. */
class Call {
  readonly #request: Configured
  readonly #backend: Backend
  readonly #options: PluginOptions

  constructor(request: Configured, backend: Backend, options: PluginOptions) {
    this.#request = request
    this.#backend = backend
    this.#options = options
  }

  async run(): Promise<CniOutcome> {
    const request = this.#request
    switch (request.command) {
      case 'ADD':
        return this.#add(request)
      case 'DEL':
        return this.#del(request)
      case 'CHECK':
        return this.#check(request)
      case 'GC':
        return this.#gc(request)
      case 'STATUS':
        return this.#answer(await this.#task((place) => this.#backend.status(place)))
    }
  }

  async #add(request: CniAddRequest): Promise<CniOutcome> {
    const { allowsOwnNamespace = false, isOwnNamespace: isOwn = isOwnNamespace, record } = this.#options
    if (!allowsOwnNamespace && isOwn(request.netns)) {
      return failedWith(8, 'CNI_NETNS is the network namespace of the plugin, and not one of a container')
    }
    // before anything is allocated: what the version cannot express would stay allocated
    const { ranges, addresses, claim } = this.#backend.config
    const families = [...ranges, ...addresses].map(({ prefix }) => prefix.address.family)
    const fits = checkCniFamilies(request.cniVersion, families)
    if (!fits.ok) return failed(fits.failure)
    const container = containerOf(request)
    if (container.podName === '' && this.#backend.isLocal !== true) return NO_POD
    const { containerId, ifname } = container
    record?.add({
      network: request.config.name,
      containerId,
      ifname,
      addedMs: now(),
      hasClaim: claim !== undefined,
    })
    return this.#answer(await this.#task((place) => this.#backend.add(container, place)))
  }

  async #del(request: CniDelRequest): Promise<CniOutcome> {
    const container = containerOf(request)
    try {
      const answer = this.#answer(await this.#task((place) => this.#backend.del(container, place)))
      if (answer.kind === 'done') this.#options.record?.remove({ network: request.config.name, ...container })
      return answer
    } catch (error) {
      if (this.#backend.rules === 'upstream') return { kind: 'done' }
      throw error
    }
  }

  async #check(request: CniCheckRequest): Promise<CniOutcome> {
    const container = containerOf(request)
    if (container.podName === '' && this.#backend.isLocal !== true) return NO_POD
    const { prevResult } = request.config
    const before = prevResult === undefined ? undefined : readCniResult(request.cniVersion, prevResult)
    if (before?.ok === false) return failed(before.failure)
    const addresses = before?.value.ips?.map(({ address }) => address.address)
    return this.#answer(await this.#task((place) => this.#backend.check({ ...container, addresses }, place)))
  }

  async #gc({ config, validAttachments: valid }: CniGcRequest): Promise<CniOutcome> {
    const record = this.#options.record?.of(config.name)
    return this.#answer(await this.#task((place) => this.#backend.gc({ valid, record }, place)))
  }

  #answer(result: WhereaboutsResult): CniOutcome {
    const { config, rules } = this.#backend
    if (result.kind === 'failed' && result.failure.code === 'STORE_WRITE_WITHHELD') {
      return failedWith(11, timeIsOver(this.#totalMs()))
    }
    return cniOutcome(result, { command: this.#request.command, config, rules })
  }

  async #task<O extends Outcome>(taskOf: (place: Place) => Task<O>): Promise<TaskResult<O>> {
    const deadline = performance.now() + this.#totalMs()
    const { store, namespace, known, locks, close } = await this.#open()
    const options = { now, pause, locks, canWrite: () => performance.now() < deadline }
    try {
      return await carryOut(taskOf({ namespace, nodeName: this.#options.nodeName, known }), store, options)
    } finally {
      close()
    }
  }

  /** After this time, in milliseconds, a call writes nothing any more. */
  #totalMs(): number {
    return this.#options.limits?.totalMs ?? CALL_LIMITS.totalMs
  }

  #open(): Promise<OpenStore> {
    const { config, kinds, open } = this.#backend
    if (open !== undefined) return open()
    const { kubeconfig, limits, openServer = openApiServer } = this.#options
    return openServer(config.kubeconfig ?? kubeconfig, kinds, limits)
  }
}

/** Where the outcome of a write is unknown, the same task finds out what became of it. */
async function carryOut<O extends Outcome>(
  task: Task<O>,
  store: OpenStore['store'],
  options: RunTaskOptions,
): Promise<TaskResult<O>> {
  let result = await runTask(task, store, options)
  for (let tries = 0; result.kind === 'unsettled' && tries < 3; tries++) {
    await pause(tries + 1)
    result = await runTask(task, store, options, result.unsettled)
  }
  return result
}

function containerOf({ args, containerId, ifname }: CniAddRequest | CniDelRequest | CniCheckRequest): ContainerRequest {
  const { namespace = '', name = '', uid } = args.pod ?? {}
  return { containerId, ifname, podNamespace: namespace, podName: name, podUid: uid }
}

const NO_POD = failedWith(4, 'CNI_ARGS has no K8S_POD_NAMESPACE and K8S_POD_NAME')

/**
 * Waits for another time than other plugins that write the same pool: up to 4 s when hundreds of
 * them write at once, or conflicts would take more time than writes.
 */
async function pause(conflicts: number): Promise<void> {
  const middle = 20 * 1.5 ** Math.min(conflicts, 12)
  await sleep(middle * (0.5 + Math.random()))
}

function failed(failure: Failure): CniOutcome {
  return { kind: 'failed', error: cniErrorOf(failure) }
}

function failedWith(code: number, msg: string): CniOutcome {
  return { kind: 'failed', error: { code, msg } }
}
