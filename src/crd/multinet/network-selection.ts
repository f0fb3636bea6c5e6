import * as z from 'zod'
import type { Address } from '../../cidr/nouns/address.js'
import { check } from '../../errors/check.js'
import { MALFORMED_NETWORK_SELECTION } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import type { JsonObject } from '../meta/json.js'
import { labelProblem, subdomainProblem } from '../meta/names.js'
import { NETWORKS_ANNOTATION } from './names.js'
import { type InterfaceAddress, interfaceAddress, type Kept, kept, mac, readJson } from './read-json.js'

/** A network that a Pod asks for. */
export interface NetworkSelection {
  /** The name of the NetworkAttachmentDefinition. */
  readonly name: string
  /** Its namespace. The text may leave it out: then that of the Pod. */
  readonly namespace: string
  /** The name of the interface in the Pod. Left out: Multus chooses one. */
  readonly interface?: string | undefined
  /** The addresses that the Pod asks for, with or without a prefix length. Empty: any. */
  readonly ips: readonly InterfaceAddress[]
  /** The MAC address that the Pod asks for. */
  readonly mac?: string | undefined
  /** The GUID that the Pod asks for, in a network of InfiniBand. */
  readonly infinibandGuid?: string | undefined
  readonly portMappings: readonly PortMapping[]
  readonly bandwidth?: Bandwidth | undefined
  /** Members that the plugin gets as `args.cni`. */
  readonly cniArgs?: JsonObject | undefined
  /** The gateways of the default route. Empty: it does not go through this network. */
  readonly defaultRoute: readonly Address[]
  /** The name of the IPAMClaim in the namespace of the Pod. */
  readonly ipamClaimReference?: string | undefined
  /** The element as it is stored. The short form has a name, a namespace and an interface. */
  readonly stored: JsonObject
}

/** A port of the node that is forwarded to a port of the Pod. */
export interface PortMapping {
  readonly hostPort: number
  readonly containerPort: number
  readonly protocol?: string | undefined
  readonly hostIP?: string | undefined
}

/** Limits of the traffic of an interface: rates in bits per second, bursts in bits. */
export interface Bandwidth {
  readonly ingressRate?: number | undefined
  readonly ingressBurst?: number | undefined
  readonly egressRate?: number | undefined
  readonly egressBurst?: number | undefined
}

/** The networks that a Pod asks for, or why its annotation cannot be read. */
export type SelectionResult = Result<
  readonly NetworkSelection[],
  'MALFORMED_NETWORK_SELECTION' | 'MALFORMED_EMBEDDED_JSON' | 'INVALID_OBJECT'
>

/**
 * Reads the annotation `k8s.v1.cni.cncf.io/networks` of a Pod, or its
 * `v1.multus-cni.io/default-network`. It has one of two forms: `namespace/name@interface, name`, or
 * a JSON list. An empty text is an empty list. O(length).
 *
 * @param namespace the namespace of the Pod
 * @returns the failure `MALFORMED_NETWORK_SELECTION` with a position for the short form,
 * `MALFORMED_EMBEDDED_JSON` for a text that looks like JSON and is none, `INVALID_OBJECT` with the
 * path of each wrong member
 * @throws IpamError `INVALID_ARGUMENT` if an argument is not a text
 * @example
 * const read = readNetworkSelection('blue@net1, lab/green', 'default')
 * read.ok && read.value.map((each) => [each.namespace, each.name, each.interface])
 * // [['default', 'blue', 'net1'], ['lab', 'green', undefined]]
 */
export function readNetworkSelection(annotation: string, namespace: string): SelectionResult {
  check('readNetworkSelection', 'annotation', annotation, 'text')
  check('readNetworkSelection', 'namespace', namespace, 'text')
  if (annotation.trim() === '') return ok([])
  if (!/[[{"]/.test(annotation)) return shortForm(annotation, namespace)
  const read = readJson(elements, annotation, 'annotation', NETWORKS_ANNOTATION)
  return read.ok ? ok(read.value.map((element) => selectionOf(element, namespace))) : read
}

function shortForm(annotation: string, namespace: string): SelectionResult {
  const found: NetworkSelection[] = []
  let position = 0
  for (const item of annotation.split(',')) {
    const start = position + (item.length - item.trimStart().length)
    const read = shortItem(item.trim())
    if (typeof read === 'string') {
      return failWith(MALFORMED_NETWORK_SELECTION, { text: annotation, position: start, problem: read })
    }
    found.push({ ...NO_REQUESTS, ...read, namespace: read.namespace ?? namespace, stored: read })
    position += item.length + 1
  }
  return ok(found)
}

const NO_REQUESTS = { ips: [], portMappings: [], defaultRoute: [] } as const

const SHORT_ITEM = /^(?:([^/@]*)\/)?([^/@]*)(?:@([^/@]*))?$/u

type ShortItem = { readonly name: string; readonly namespace?: string; readonly interface?: string }

/** One network, or what is wrong with its text. */
function shortItem(text: string): ShortItem | string {
  const parts = SHORT_ITEM.exec(text)
  if (parts === null) return 'not of the form namespace/name@interface'
  const [, namespace, name = '', ifname] = parts
  const problem =
    (namespace !== undefined && told('namespace', labelProblem(namespace))) ||
    told('name', subdomainProblem(name)) ||
    (ifname !== undefined && told('interface', interfaceProblem(ifname)))
  if (problem) return problem
  return { name, ...(namespace !== undefined && { namespace }), ...(ifname !== undefined && { interface: ifname }) }
}

function told(what: string, problem: string | undefined): string | undefined {
  return problem && `the ${what} ${problem}`
}

/** The longest name that Linux gives an interface. */
const MAX_INTERFACE = 15

function interfaceProblem(name: string): string | undefined {
  const isName = name !== '' && name.length <= MAX_INTERFACE && !/[\s/:]/u.test(name) && !/^\.{1,2}$/.test(name)
  return isName ? undefined : `must be 1 to ${MAX_INTERFACE} characters without blanks, '/' and ':'`
}

function checkedBy(problemOf: (text: string) => string | undefined) {
  return z.string().superRefine((text, context) => {
    const problem = problemOf(text)
    if (problem !== undefined) context.addIssue(problem)
  })
}

function emptyOr(problemOf: (text: string) => string | undefined) {
  return checkedBy((text) => (text === '' ? undefined : problemOf(text))).optional()
}

const gateway = interfaceAddress.transform(({ address, prefixLength }, context) => {
  if (prefixLength === undefined) return address
  context.addIssue('a gateway has no prefix length')
  return z.NEVER
})
const port = z.int().min(0).max(65_535)
const rate = z.int().min(0).optional()
const element = z.looseObject({
  name: checkedBy(subdomainProblem),
  namespace: emptyOr(labelProblem),
  interface: emptyOr(interfaceProblem),
  ips: z.array(interfaceAddress).optional(),
  mac: z.union([z.literal(''), mac]).optional(),
  'infiniband-guid': z.string().optional(),
  portMappings: z
    .array(
      z.looseObject({
        hostPort: port,
        containerPort: port,
        protocol: z.string().optional(),
        hostIP: z.string().optional(),
      }),
    )
    .optional(),
  bandwidth: z.looseObject({ ingressRate: rate, ingressBurst: rate, egressRate: rate, egressBurst: rate }).optional(),
  'cni-args': z.record(z.string(), z.unknown()).optional(),
  'default-route': z.array(gateway).optional(),
  'ipam-claim-reference': emptyOr(subdomainProblem),
})
const elements = z.array(kept(element))

/** An empty text is one that is left out: clients in Go write the one as the other. */
function selectionOf({ read, stored }: Kept<typeof element>, namespace: string): NetworkSelection {
  return {
    name: read.name,
    namespace: read.namespace || namespace,
    ips: read.ips ?? [],
    portMappings: read.portMappings ?? [],
    defaultRoute: read['default-route'] ?? [],
    ...given('interface', read.interface),
    ...given('mac', read.mac),
    ...given('infinibandGuid', read['infiniband-guid']),
    ...given('bandwidth', read.bandwidth),
    ...given('cniArgs', read['cni-args']),
    ...given('ipamClaimReference', read['ipam-claim-reference']),
    stored,
  }
}

function given<K extends string, T>(key: K, value: T | undefined): { readonly [_ in K]?: T } {
  return (value === undefined || value === '' ? {} : { [key]: value }) as { readonly [_ in K]?: T }
}
