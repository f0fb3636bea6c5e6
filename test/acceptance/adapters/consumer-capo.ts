import { capoServerOf, claimsFor } from 'ipam-kit/provider/consumer'
import * as z from 'zod'
import { type Answer, answerKeys, type BuiltPart, type GivenCase, isRecord, unsupported } from '../answer.js'
import { ownerOf } from '../consumer-objects.js'
import { readInput } from '../read-input.js'

const inputSchema = z.union([z.strictObject({ server: z.string().min(1) }), z.strictObject({ claim: z.string() })])

/** How claims of servers are named. What is done for floating IPs is not built. */
export const capoNames: BuiltPart = {
  name: 'names of claims',
  covers: (input) => isRecord(input) && (Object.hasOwn(input, 'server') || Object.hasOwn(input, 'claim')),
}

/** The claims of cluster-api-provider-openstack, by their names. */
export function consumerCapo({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { data } = known
  if ('claim' in data) return answerKeys(expect, { machine: () => capoServerOf(data.claim) })
  const pools = [{ apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'OpenStackFloatingIPPool', name: 'pool' }]
  const [desired] = claimsFor(ownerOf(data.server), [{ pools }], 'capo')
  return answerKeys(expect, { claim: () => desired?.name })
}
