import { fromUtf8 } from '../bytes/platform.js'
import { utf8Length } from '../bytes/utf8.js'
import { check } from '../errors/check.js'
import { CNI_INPUT_LIMIT_EXCEEDED, INVALID_CNI_CONFIG, MALFORMED_JSON } from '../errors/definitions.js'
import { failWith } from '../errors/failure.js'
import type { Result } from '../errors/index.js'
import { refuse } from '../errors/refuse.js'
import type { CniArgs } from './args.js'
import { type CniConfig, readAttachments, readConfig, readVersion } from './config.js'
import { type CniEnvironment, type CniEnvironmentValues, type CniInterfaceRef, readEnvironment } from './environment.js'
import { asMap, type CniJson, parseJson, wordFor } from './json.js'
import { CNI_VERSIONS, type CniVersion, VERSION_CHOICES } from './versions.js'

/** What a runtime gives to a plugin. */
export interface CniInput {
  readonly env: CniEnvironment
  /** Everything that was on stdin. */
  readonly stdin: Uint8Array | string
}

/** What a plugin takes. */
export interface CniRequestOptions {
  /** The versions that the plugin supports. Default {@link CNI_VERSIONS}. */
  readonly versions?: readonly CniVersion[] | undefined
  /**
   * The arguments in `CNI_ARGS` that the plugin reads, such as `IP`. Any other is refused unless
   * the runtime sends `IgnoreUnknown=1`. Those of Kubernetes are always known. Default none.
   */
  readonly knownArgs?: readonly string[] | undefined
}

/** One request of a runtime. Tell requests by `command`. */
export type CniRequest =
  | CniAddRequest
  | CniDelRequest
  | CniCheckRequest
  | CniGcRequest
  | CniStatusRequest
  | CniVersionRequest

/** What all requests but VERSION have. */
interface WithConfig {
  /** The version of the answer. */
  readonly cniVersion: CniVersion
  readonly config: CniConfig
  /** The folders of plugins, as the runtime wrote them in `CNI_PATH`. */
  readonly path: string | undefined
}

/** What requests about one interface have. */
interface OfInterface extends WithConfig, CniInterfaceRef {
  readonly args: CniArgs
}

/** Add a container to the network. */
export interface CniAddRequest extends OfInterface {
  readonly command: 'ADD'
  /** The network namespace of the container: a path on Linux. */
  readonly netns: string
}

/** Remove a container from the network. Succeeds also for a container that was never added. */
export interface CniDelRequest extends OfInterface {
  readonly command: 'DEL'
  /** `undefined` if the namespace does not exist any more. */
  readonly netns: string | undefined
}

/** Check that a container is as ADD has left it. */
export interface CniCheckRequest extends OfInterface {
  readonly command: 'CHECK'
  readonly netns: string
}

/** Delete what attachments have left that do not exist any more. */
export interface CniGcRequest extends WithConfig {
  readonly command: 'GC'
  /**
   * The attachments that exist, as one runtime knows them for one network. A plugin that serves
   * several networks or runtimes from one store must not free what is missing here by that alone.
   */
  readonly validAttachments: readonly CniInterfaceRef[]
}

/** Can the plugin serve ADD? */
export interface CniStatusRequest extends WithConfig {
  readonly command: 'STATUS'
}

/** Which versions does the plugin support? */
export interface CniVersionRequest {
  readonly command: 'VERSION'
  /** The version of the answer. */
  readonly cniVersion: CniVersion
  readonly supportedVersions: readonly CniVersion[]
}

/** The codes of {@link readCniRequest}. */
export type CniRequestError =
  | 'INVALID_CNI_ENVIRONMENT'
  | 'MALFORMED_JSON'
  | 'INVALID_CNI_CONFIG'
  | 'CNI_VERSION_MISMATCH'
  | 'CNI_INPUT_LIMIT_EXCEEDED'

/**
 * The longest configuration, in bytes: 4 MiB. A list of 15,000 attachments for GC has that length,
 * because libcni sends it twice.
 */
export const MAX_CNI_STDIN_BYTES = 4_194_304

/**
 * Reads the request of a runtime from the environment and stdin. It never throws for what a runtime
 * can send. The environment is read first, then stdin. O(length).
 *
 * `cniErrorOf` makes the CNI error of a failure. CHECK needs version 0.4.0 or later, GC and STATUS
 * need 1.1.0. VERSION also takes an empty stdin.
 *
 * @throws IpamError `INVALID_ARGUMENT` for an argument of another type
 * @see https://www.cni.dev/docs/spec/ sections 2 and 4
 * @example
 * import { unwrap } from 'ipam-kit/errors'
 * const env = { CNI_COMMAND: 'DEL', CNI_CONTAINERID: 'c1', CNI_IFNAME: 'eth0' }
 * const request = unwrap(readCniRequest({ env, stdin: '{"cniVersion":"1.0.0","name":"lab"}' }))
 * request.command // 'DEL'
 */
export function readCniRequest(input: CniInput, options?: CniRequestOptions): Result<CniRequest, CniRequestError> {
  check('readCniRequest', 'input', input, { env: ['record', 'text?'], stdin: whyNotStdin })
  check('readCniRequest', 'options', options, [
    'options?',
    { versions: ['list?', ['one', VERSION_CHOICES]], knownArgs: ['list?', 'text'] },
  ])
  const { versions = CNI_VERSIONS, knownArgs = [] } = options ?? {}
  if (versions.length === 0) refuse('readCniRequest', 'options.versions', 'at least one version', 'an empty list')
  const environment = readEnvironment(input.env, knownArgs)
  if (!environment.ok) return environment
  const text = textOf(input.stdin)
  if (!text.ok) return text
  if (environment.value.command === 'VERSION') return readVersionRequest(text.value, versions)
  const json = parseJson(text.value, CONFIGURATION)
  if (!json.ok) return json
  const config = readConfig(json.value, environment.value.command, versions)
  return config.ok ? requestOf(environment.value, config.value) : config
}

const CONFIGURATION = 'the network configuration'

function whyNotStdin(given: unknown): string | undefined {
  return typeof given === 'string' || given instanceof Uint8Array ? undefined : 'a text or bytes'
}

function textOf(stdin: Uint8Array | string): Result<string, 'CNI_INPUT_LIMIT_EXCEEDED' | 'MALFORMED_JSON'> {
  // a text has at least as many bytes as UTF-16 units
  const isLong =
    stdin.length > MAX_CNI_STDIN_BYTES || (typeof stdin === 'string' && utf8Length(stdin) > MAX_CNI_STDIN_BYTES)
  if (isLong) return failWith(CNI_INPUT_LIMIT_EXCEEDED, { limit: 'bytes', max: MAX_CNI_STDIN_BYTES })
  const text = typeof stdin === 'string' ? stdin : fromUtf8(stdin)
  if (text !== undefined) return { ok: true, value: text }
  return failWith(MALFORMED_JSON, { what: CONFIGURATION, position: 0, problem: 'it is not UTF-8' })
}

/** VERSION has a configuration with `cniVersion` alone; runtimes in Go send none. */
function readVersionRequest(text: string, versions: readonly CniVersion[]): Result<CniRequest, CniRequestError> {
  const supportedVersions = CNI_VERSIONS.filter((version) => versions.includes(version))
  const newest = supportedVersions.at(-1) as CniVersion
  const request = { command: 'VERSION', supportedVersions } as const
  if (text.trim() === '') return { ok: true, value: { ...request, cniVersion: newest } }
  const json = parseJson(text, CONFIGURATION)
  if (!json.ok) return json
  const raw: CniJson | undefined = asMap(json.value)
  if (raw === undefined) {
    return failWith(INVALID_CNI_CONFIG, {
      path: 'the configuration',
      problem: `expected an object, got ${wordFor(json.value)}`,
    })
  }
  const asked = readVersion(raw, versions)
  if (!asked.ok && asked.failure.code === 'INVALID_CNI_CONFIG') return asked
  // the answer lists the versions: a runtime with another one finds out by it
  return { ok: true, value: { ...request, cniVersion: asked.ok ? asked.value : newest } }
}

function requestOf(values: CniEnvironmentValues, config: CniConfig): Result<CniRequest, CniRequestError> {
  const { command, path, args } = values
  const base = { cniVersion: config.cniVersion, config, path }
  switch (command) {
    case 'GC': {
      const attachments = readAttachments(config.raw)
      return attachments.ok
        ? { ok: true, value: { command, ...base, validAttachments: attachments.value } }
        : attachments
    }
    case 'STATUS':
      return { ok: true, value: { command, ...base } }
    case 'DEL':
      return { ok: true, value: { command, ...base, ...containerOf(values), args, netns: values.netns } }
    default:
      // the environment has been checked for it
      return {
        ok: true,
        value: {
          command: command as 'ADD' | 'CHECK',
          ...base,
          ...containerOf(values),
          args,
          netns: values.netns as string,
        },
      }
  }
}

function containerOf({ container }: CniEnvironmentValues): CniInterfaceRef {
  return container as CniInterfaceRef
}
