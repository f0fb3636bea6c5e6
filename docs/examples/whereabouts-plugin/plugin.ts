import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CniAddRequest,
  type CniCheckRequest,
  type CniDelRequest,
  type CniOutcome,
  type CniRequest,
  checkCniFamilies,
  cniErrorOf,
  readCniResult,
} from 'ipam-kit/cni'
import { Pod } from 'ipam-kit/crd/core'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { IPPool, NodeSlicePool, OverlappingRangeIPReservation } from 'ipam-kit/crd/whereabouts'
import { type Failure, fail, type Result, unwrap } from 'ipam-kit/errors'
import { now } from 'ipam-kit/node'
import type { Outcome, Task } from 'ipam-kit/plan'
import {
  add,
  check,
  cniOutcome,
  del,
  gc,
  type InterfaceRequest,
  type NetworkRequest,
  readWhereaboutsConfig,
  status,
  type WhereaboutsConfig,
  type WhereaboutsResult,
} from 'ipam-kit/provider/whereabouts'
import { runTask, type TaskResult } from 'ipam-kit/run'
import { kubernetesStore } from 'ipam-kit/store/kubernetes'
import type { Plugin } from '../cni-plugin/serve.js'
import { type ClientLimits, smallClient } from './client.js'
import { readFlatFile } from './flat-file.js'
import { type KubeServer, readKubeconfig } from './kubeconfig.js'
import { isOwnNamespace } from './own-namespace.js'
import type { AttachmentStore } from './record.js'

export interface PluginOptions {
  readonly rules?: 'upstream' | undefined
  readonly sticky?: 'pod' | undefined
  /** Left out: no record is kept. */
  readonly record?: AttachmentStore | undefined
  /** A file, for configurations that name none. */
  readonly kubeconfig?: string | undefined
  readonly nodeName: string
  /** Whether `CNI_NETNS` may be the namespace of the plugin itself. */
  readonly allowsOwnNamespace?: boolean | undefined
  /** Default: 30 s for a request, 110 s for the call. */
  readonly limits?: ClientLimits | undefined
}

/**
 * As upstream, whose ADD takes up to 2 minutes: a runtime ends the process some time after that.
 */
const LIMITS: ClientLimits = { requestMs: 30_000, totalMs: 110_000 }

const KINDS = [IPPool, OverlappingRangeIPReservation, NodeSlicePool, IPAMClaim, Pod].map(({ info }) => info)

/** The IPAM plugin of whereabouts, over an API server. */
export function whereaboutsPlugin(options: PluginOptions): Plugin {
  return async (request) => {
    if (request.command === 'VERSION') return { kind: 'done' }
    const call = openCall(request, options)
    return call.ok
      ? call.value.run()
      : { kind: 'failed', error: cniErrorOf(call.failure, { command: request.command }) }
  }
}

type Configured = Exclude<CniRequest, { readonly command: 'VERSION' }>

function openCall(request: Configured, options: PluginOptions): Result<Call> {
  const { config, command } = request
  const args = 'args' in request ? Object.fromEntries(request.args.values) : {}
  const read = readWhereaboutsConfig(config.raw, {
    rules: options.rules,
    use: command === 'ADD' || command === 'STATUS' ? 'allocate' : 'release',
    flatFile: readFlatFile(config.ipam?.configuration_path),
    args,
  })
  return read.ok ? { ok: true, value: new Call(request, read.value, options) } : read
}

type PodName = Pick<InterfaceRequest, 'podNamespace' | 'podName' | 'podUid'>

/** One call of the runtime. */
class Call {
  readonly #request: Configured
  readonly #config: WhereaboutsConfig
  readonly #options: PluginOptions
  #opened: { readonly server: KubeServer; readonly store: ReturnType<typeof kubernetesStore> } | undefined

  constructor(request: Configured, config: WhereaboutsConfig, options: PluginOptions) {
    this.#request = request
    this.#config = config
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
        return this.#gc(request.validAttachments)
      case 'STATUS':
        return this.#answer(await this.#task((network) => status(network)))
    }
  }

  async #add(request: CniAddRequest): Promise<CniOutcome> {
    const { allowsOwnNamespace = false, record, sticky } = this.#options
    if (!allowsOwnNamespace && isOwnNamespace(request.netns)) {
      return failedWith(8, 'CNI_NETNS is the network namespace of the plugin, and not one of a container')
    }
    // before anything is allocated: what the version cannot express would stay allocated
    const { ranges, addresses } = this.#config
    const families = [...ranges, ...addresses].map(({ prefix }) => prefix.address.family)
    const fits = checkCniFamilies(request.cniVersion, families)
    if (!fits.ok) return failed(fits.failure)
    const { containerId, ifname } = request
    const pod = this.#podOf(request)
    if (pod === undefined) return NO_POD
    const hasClaim = this.#config.claim !== undefined
    record?.add({ network: request.config.name, containerId, ifname, addedMs: now(), hasClaim })
    return this.#answer(await this.#task((network) => add({ ...network, containerId, ifname, ...pod }, { sticky })))
  }

  async #del(request: CniDelRequest): Promise<CniOutcome> {
    const { rules, record } = this.#options
    const { containerId, ifname } = request
    const pod = this.#podOf(request) ?? { podNamespace: '', podName: '' }
    try {
      const result = await this.#task((network) => del({ ...network, containerId, ifname, ...pod }))
      const answer = this.#answer(result)
      if (answer.kind === 'done') record?.remove({ network: request.config.name, containerId, ifname })
      return answer
    } catch (error) {
      if (rules === 'upstream') return { kind: 'done' }
      throw error
    }
  }

  async #check(request: CniCheckRequest): Promise<CniOutcome> {
    const { containerId, ifname, config } = request
    const pod = this.#podOf(request)
    if (pod === undefined) return NO_POD
    const before = config.prevResult === undefined ? undefined : readCniResult(request.cniVersion, config.prevResult)
    if (before?.ok === false) return failed(before.failure)
    const addresses = before?.value.ips?.map(({ address }) => address.address)
    return this.#answer(await this.#task((network) => check({ ...network, containerId, ifname, ...pod, addresses })))
  }

  async #gc(valid: Parameters<typeof gc>[0]['valid']): Promise<CniOutcome> {
    const { record, nodeName } = this.#options
    const known = record?.of(this.#request.config.name)
    return this.#answer(await this.#task((network) => gc({ ...network, nodeName, valid, record: known })))
  }

  #answer(result: WhereaboutsResult): CniOutcome {
    return cniOutcome(result, { command: this.#request.command, config: this.#config, rules: this.#options.rules })
  }

  #podOf({ args }: CniAddRequest | CniDelRequest | CniCheckRequest): PodName | undefined {
    return args.pod && { podNamespace: args.pod.namespace, podName: args.pod.name, podUid: args.pod.uid }
  }

  async #task<O extends Outcome>(taskOf: (network: NetworkRequest) => Task<O>): Promise<TaskResult<O>> {
    const { server, store } = this.#open()
    const { nodeName } = this.#options
    const namespace = server.namespace || undefined
    const task = taskOf({ config: this.#config, namespace, nodeName })
    const options = { now, pause }
    let result = await runTask(task, store, options)
    // the outcome of a write is unknown: the same task finds out what became of it
    for (let tries = 0; result.kind === 'unsettled' && tries < 3; tries++) {
      await pause(tries + 1)
      result = await runTask(task, store, options, result.unsettled)
    }
    return result
  }

  #open() {
    if (this.#opened !== undefined) return this.#opened
    const file = this.#config.kubeconfig ?? this.#options.kubeconfig
    const server = unwrap(serverOf(file))
    const store = kubernetesStore(smallClient(server, this.#options.limits ?? LIMITS), { sleep, kinds: KINDS })
    this.#opened = { server, store }
    return this.#opened
  }
}

function serverOf(file: string | undefined): Result<KubeServer, 'INVALID_CNI_CONFIG'> {
  const path = 'ipam.kubernetes.kubeconfig'
  if (file === undefined) return fail('INVALID_CNI_CONFIG', { path, problem: 'it is missing, and so is KUBECONFIG' })
  try {
    return { ok: true, value: readKubeconfig(file) }
  } catch (error) {
    return fail('INVALID_CNI_CONFIG', { path, problem: (error as Error).message })
  }
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
