import { INVALID_CNI_ENVIRONMENT } from '../errors/definitions.js'
import { failWith } from '../errors/failure.js'
import type { Failure, Result } from '../errors/index.js'
import { quote } from '../errors/quote.js'

/**
 * The variable `CNI_ARGS`: `IgnoreUnknown=1;K8S_POD_NAMESPACE=office;K8S_POD_NAME=web-0`.
 */
export interface CniArgs {
  /** Arguments that the plugin does not know are no error. Default of the protocol: false. */
  readonly ignoreUnknown: boolean
  /** Every argument by its name, with a value that is not empty. */
  readonly values: ReadonlyMap<string, string>
  /** The Pod that the container belongs to; `undefined` outside of Kubernetes. */
  readonly pod: CniPod | undefined
}

/** What a runtime of Kubernetes says of the Pod. */
export interface CniPod {
  readonly namespace: string
  readonly name: string
  /** Absent if the runtime does not set `K8S_POD_UID`. */
  readonly uid: string | undefined
  /** The container id of the sandbox. */
  readonly infraContainerId: string | undefined
}

type ArgsResult = Result<CniArgs, 'INVALID_CNI_ENVIRONMENT'>

/** The arguments that every plugin takes. */
const COMMON = ['IgnoreUnknown', 'K8S_POD_NAMESPACE', 'K8S_POD_NAME', 'K8S_POD_UID', 'K8S_POD_INFRA_CONTAINER_ID']

const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/
const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/
const MAX_SUBDOMAIN = 253

/**
 * Reads `CNI_ARGS`.
 *
 * @param known the arguments that the plugin reads beside those of Kubernetes
 */
export function readArgs(text: string, known: readonly string[]): ArgsResult {
  const values = new Map<string, string>()
  const seen = new Set<string>()
  for (const pair of text === '' ? [] : text.split(';')) {
    const [name = '', value, ...more] = pair.split('=')
    if (name === '' || value === undefined || more.length > 0) return wrong(`not NAME=VALUE: ${quote(pair)}`)
    if (seen.has(name)) return wrong(`${quote(name)} is given twice`)
    seen.add(name)
    if (value !== '') values.set(name, value)
  }
  const ignoreUnknown = readFlag(values.get('IgnoreUnknown'))
  if (ignoreUnknown === undefined) return wrong('IgnoreUnknown is none of 0, 1, false and true')
  const unknown = [...seen].filter((name) => !COMMON.includes(name) && !known.includes(name))
  if (!ignoreUnknown && unknown.length > 0) {
    return wrong(`unknown argument ${quote(unknown[0] as string)}, and IgnoreUnknown is not 1`)
  }
  const namespace = values.get('K8S_POD_NAMESPACE')
  const name = values.get('K8S_POD_NAME')
  if (namespace === undefined && name === undefined) {
    return { ok: true, value: { ignoreUnknown, values, pod: undefined } }
  }
  if (namespace === undefined) return wrong('K8S_POD_NAME is given without K8S_POD_NAMESPACE')
  if (name === undefined) return wrong('K8S_POD_NAMESPACE is given without K8S_POD_NAME')
  if (!LABEL.test(namespace)) return wrong(`K8S_POD_NAMESPACE ${quote(namespace)} is not the name of a namespace`)
  if (name.length > MAX_SUBDOMAIN || !SUBDOMAIN.test(name)) {
    return wrong(`K8S_POD_NAME ${quote(name)} is not the name of a Pod`)
  }
  const uid = values.get('K8S_POD_UID')
  const pod: CniPod = { namespace, name, uid, infraContainerId: values.get('K8S_POD_INFRA_CONTAINER_ID') }
  return { ok: true, value: { ignoreUnknown, values, pod } }
}

function readFlag(text: string | undefined): boolean | undefined {
  switch (text?.toLowerCase()) {
    case undefined:
    case '0':
    case 'false':
      return false
    case '1':
    case 'true':
      return true
    default:
      return undefined
  }
}

function wrong(problem: string): { readonly ok: false; readonly failure: Failure<'INVALID_CNI_ENVIRONMENT'> } {
  return failWith(INVALID_CNI_ENVIRONMENT, { variables: ['CNI_ARGS'], problem })
}
