import { INVALID_CNI_ENVIRONMENT } from '../errors/definitions.js'
import { failWith } from '../errors/failure.js'
import type { Result } from '../errors/index.js'
import { quote } from '../errors/quote.js'
import { type CniArgs, readArgs } from './args.js'

/** Environment variables by their names, such as `process.env`. */
export type CniEnvironment = { readonly [name: string]: string | undefined }

/** What a runtime asks a plugin to do. */
export type CniCommand = 'ADD' | 'DEL' | 'CHECK' | 'GC' | 'STATUS' | 'VERSION'

/** The interface of a container: what ADD, CHECK and DEL are about. */
export interface CniInterfaceRef {
  /** Names the container, or the sandbox of a Pod, for the runtime. */
  readonly containerId: string
  /** The name of the interface inside the container: `eth0`. */
  readonly ifname: string
}

/** What the environment says. Variables that the command does not have are not read. */
export interface CniEnvironmentValues {
  readonly command: CniCommand
  readonly container: CniInterfaceRef | undefined
  readonly netns: string | undefined
  readonly args: CniArgs
  readonly path: string | undefined
}

/** The variables that a command must have: specification 1.1.0, section 2. */
const REQUIRED: { readonly [command in CniCommand]: readonly string[] } = {
  ADD: ['CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME'],
  DEL: ['CNI_CONTAINERID', 'CNI_IFNAME'],
  CHECK: ['CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME'],
  GC: ['CNI_PATH'],
  STATUS: [],
  VERSION: [],
}

/** Names of containers and networks. */
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/
/** Linux has 16 bytes for the name of an interface, of which the last is zero. */
const MAX_IFNAME = 15

/**
 * Reads the variables of CNI. O(length).
 *
 * @param known the arguments in `CNI_ARGS` that the plugin reads beside those of Kubernetes
 */
export function readEnvironment(
  env: CniEnvironment,
  known: readonly string[],
): Result<CniEnvironmentValues, 'INVALID_CNI_ENVIRONMENT'> {
  const textOf = (name: string) => (Object.hasOwn(env, name) ? env[name] || undefined : undefined)
  const command = textOf('CNI_COMMAND')
  if (command === undefined) return wrong(['CNI_COMMAND'], 'required')
  if (!Object.hasOwn(REQUIRED, command)) return wrong(['CNI_COMMAND'], `unknown command ${quote(command)}`)
  const missing = REQUIRED[command as CniCommand].filter((name) => textOf(name) === undefined)
  if (missing.length > 0) return wrong(missing, `required for ${command}`)

  const path = textOf('CNI_PATH')
  const base = { command: command as CniCommand, path }
  if (command !== 'ADD' && command !== 'DEL' && command !== 'CHECK') {
    return { ok: true, value: { ...base, container: undefined, netns: undefined, args: NO_ARGS } }
  }
  const containerId = textOf('CNI_CONTAINERID') as string
  if (!isName(containerId)) return wrong(['CNI_CONTAINERID'], `${quote(containerId)} is not the id of a container`)
  const ifname = textOf('CNI_IFNAME') as string
  if (!isIfname(ifname)) return wrong(['CNI_IFNAME'], `${quote(ifname)} is not the name of an interface`)
  const args = readArgs(textOf('CNI_ARGS') ?? '', known)
  if (!args.ok) return args
  const container = { containerId, ifname }
  return { ok: true, value: { ...base, container, netns: textOf('CNI_NETNS'), args: args.value } }
}

const NO_ARGS: CniArgs = { ignoreUnknown: true, values: new Map(), pod: undefined }

/** Whether a text can be the name of a network or the id of a container. */
export function isName(text: string): boolean {
  return NAME.test(text)
}

/** Whether Linux takes a text as the name of an interface. */
export function isIfname(text: string): boolean {
  return text !== '' && text.length <= MAX_IFNAME && text !== '.' && text !== '..' && !/[/:\s]/u.test(text)
}

function wrong(variables: readonly string[], problem: string) {
  return failWith(INVALID_CNI_ENVIRONMENT, { variables, problem })
}
