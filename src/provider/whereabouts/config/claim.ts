import { memberOf } from '../../../cni/json.js'
import { labelProblem, subdomainProblem } from '../../../crd/meta/names.js'
import { quote } from '../../../errors/quote.js'
import type { ConfigIssues } from './issues.js'
import { isRecord, type JsonRecord, Members } from './members.js'
import type { ConfiguredClaim } from './types.js'

/**
 * The IPAMClaim of an interface, by the first of these fields:
 *
 * - `ipam-claim-reference` in `runtimeConfig` or `args.cni`: from the network selection of the Pod
 * - `IPAMClaimReference` and `IPAMClaimNamespace` in `ipam`, in any case of letters: those that
 *   pull request 737 of upstream proposes
 * - `whereabouts.cni.cncf.io/ownerID`, `ownerName`, `ownerType` and `ownerVersion` in `args.cni`:
 *   the owner of pull request 377 of upstream, such as a VirtualMachine. Its rows are never freed:
 *   the sweep does not read such objects
 */
export function readClaim(ipam: Members, network: JsonRecord, issues: ConfigIssues): ConfiguredClaim | undefined {
  for (const [path, record] of selections(network)) {
    const field = 'ipam-claim-reference'
    const name = new Members(record, issues, (field) => `${path}.${field}`, 'Net').text(field)
    if (name !== undefined) return isName(`${path}.${field}`, name, subdomainProblem, issues) ? { name } : undefined
  }
  const [nameField, namespaceField] = ['ipamclaimreference', 'ipamclaimnamespace'].map((lower) =>
    Object.keys(ipam.given).find((field) => field.toLowerCase() === lower),
  )
  const namespace = namespaceField === undefined ? undefined : ipam.text(namespaceField)
  const name = nameField === undefined ? undefined : ipam.text(nameField)
  if (name === undefined && namespace !== undefined) {
    issues.strict(ipam.path(namespaceField as string), 'has no effect without IPAMClaimReference')
  }
  if (name === undefined) return readOwner(network, issues)
  const isRight =
    isName(ipam.path(nameField as string), name, subdomainProblem, issues) &&
    (namespace === undefined || isName(ipam.path(namespaceField as string), namespace, labelProblem, issues))
  return isRight ? { name, namespace } : undefined
}

/** No object has another name. Upstream reads none of these fields. */
function isName(
  path: string,
  text: string,
  problemOf: (text: string) => string | undefined,
  issues: ConfigIssues,
): boolean {
  const problem = problemOf(text)
  if (problem !== undefined) issues.strict(path, `${quote(text)} ${problem}`)
  return problem === undefined
}

const OWNER = 'whereabouts.cni.cncf.io/owner'

function readOwner(network: JsonRecord, issues: ConfigIssues): ConfiguredClaim | undefined {
  for (const [path, record] of selections(network)) {
    const members = new Members(record, issues, (field) => `${path}.${field}`, 'Net')
    const [uid, name = '', kind = '', apiVersion = ''] = ['ID', 'Name', 'Type', 'Version'].map((part) =>
      members.text(`${OWNER}${part}`),
    )
    if (uid !== undefined) return { name, owner: { apiVersion, kind, uid } }
  }
  return undefined
}

/** The parts of a configuration that a runtime fills from the network selection of a Pod. */
export function selections(network: JsonRecord): readonly (readonly [path: string, JsonRecord])[] {
  const runtime = memberOf(network, 'runtimeConfig')
  const args = memberOf(network, 'args')
  const cni = isRecord(args) ? memberOf(args, 'cni') : undefined
  return (
    [
      ['runtimeConfig', runtime],
      ['args.cni', cni],
    ] as const
  ).flatMap(([path, value]) => (isRecord(value) ? [[path, value] as const] : []))
}
