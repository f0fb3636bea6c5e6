import { Address, Prefix } from 'ipam-kit/cidr'
import { claimsFor, deviceConfig, kernelArgs, resolveClaims } from 'ipam-kit/provider/consumer'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, refused, unsupported } from '../answer.js'
import { addressFor, claimFor, ownerOf } from '../consumer-objects.js'
import { readInput } from '../read-input.js'

const text = z.string()
const inputSchema = z.strictObject({
  machine: text,
  device: z.strictObject({
    gateway: text.optional(),
    ipAddrs: z.array(text).default([]),
    nameservers: z.array(text).default([]),
    addressesFromPools: z.array(z.strictObject({ group: text.default(''), resource: text, name: text })).default([]),
  }),
  claims: z.array(z.strictObject({ name: text, addressRef: text.optional() })).default([]),
  addresses: z
    .array(z.strictObject({ name: text, address: text, prefix: z.number(), gateway: text.optional() }))
    .default([]),
})

/**
 * The kernel arguments of a machine of OpenShift: of what its spec says, and of what its claims
 * have.
 */
export function consumerOpenshift({ input, expect, fields }: GivenCase): Answer {
  if (fields.function !== 'kernelArgs') return unsupported(`function ${String(fields.function)}`)
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { machine, device, claims, addresses } = known.data
  const pools = device.addressesFromPools.map(({ group, resource, name }) => ({
    apiGroup: group,
    kind: resource,
    name,
  }))
  const desired = claimsFor(ownerOf(machine), [{ pools }], 'openshift')
  const found = desired.flatMap((each) => {
    const claim = claims.find(({ name }) => name === each.name)
    return claim === undefined ? [] : [claimFor(each, claim)]
  })
  const objects = found.flatMap((claim, index) => {
    const address = addresses.find(({ name }) => name === claim.status?.addressRef?.name)
    const each = desired[index]
    return address === undefined || each === undefined ? [] : [addressFor(each, address)]
  })
  const resolved = resolveClaims(desired, found, objects)
  const bound = resolved.flatMap(({ resolution }) => (resolution.kind === 'bound' ? [resolution.address] : []))
  if (bound.length < desired.length) return refused(expect, 'no IPAddress is bound to claim')
  const config = deviceConfig({ index: 0 }, bound)
  if (config.kind === 'invalid') return refused(expect, config.problems.map(({ message }) => message).join('\n'))
  // one gateway for the device: the last one that there is
  const gateways = [device.gateway, ...bound.map(({ spec }) => spec.gateway)].filter((gateway) => Boolean(gateway))
  const gateway = gateways.at(-1)
  const kargs = kernelArgs([
    {
      addresses: [...device.ipAddrs.map((address) => Prefix.parse(address)), ...config.addresses],
      ...(gateway === undefined ? {} : { gateway: Address.parse(gateway) }),
      nameservers: device.nameservers.map((server) => Address.parse(server)),
    },
  ])
  return answerKeys(expect, { kargs: () => kargs, error: () => false })
}
