import { Address, Prefix } from 'ipam-kit/cidr'
import { readNetwork, requestedAddresses } from 'ipam-kit/provider/persistent-ip'
import * as z from 'zod'
import { type Answer, answered, answerKeys, type GivenCase, isRecord, unsupported } from '../answer.js'
import { readInput } from '../read-input.js'

const inputSchema = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('separateSubnetsByFamily'), subnets: z.string().default('') }),
  z.strictObject({ op: z.literal('family'), ip: z.string().default('') }),
  z.strictObject({
    op: z.literal('vmiInterfaceIPRequests'),
    addressesAnnotation: z.string().optional(),
    interface: z.string().default(''),
    subnets: z.string().default(''),
  }),
])

/** What an interface of a virtual machine asks for, and the subnets of its network. */
export function persistentIpRequests({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { data } = known
  if (data.op === 'family') {
    const read = Address.safeParse(data.ip)
    const family = read.ok ? Address.unmap(read.value).family : undefined
    return answerKeys(expect, { isIPv4: () => family === 4, isIPv6: () => family === 6 })
  }
  const config = JSON.stringify({ name: 'net', subnets: data.subnets })
  const network = readNetwork({ metadata: { name: 'net', namespace: 'a' }, spec: { config } })
  if (!network.ok) return failed(expect, network.failure.message)
  const subnets = network.value.subnets.map(({ prefix }) => prefix)
  if (data.op === 'separateSubnetsByFamily') {
    const of = (family: 4 | 6) => subnets.filter(({ address }) => address.family === family)
    return answerKeys(expect, {
      error: () => null,
      errorContains: () => null,
      ipv4: (asked) => spelled(of(4), asked),
      ipv6: (asked) => spelled(of(6), asked),
    })
  }
  const read = requestedAddresses({ annotation: data.addressesAnnotation, network: data.interface, subnets })
  if (!read.ok) return failed(expect, read.failure.message)
  const ips = read.value.map(({ address, prefixLength = 0 }) => Prefix.of(address, prefixLength))
  return answerKeys(expect, { error: () => null, errorContains: () => null, ips: (asked) => spelled(ips, asked) })
}

/** An empty text is asked for where any error will do. */
function failed(expect: unknown, sentence: string): Answer {
  if (!isRecord(expect) || !Object.hasOwn(expect, 'errorContains')) return answered({ error: sentence })
  const { errorContains: asked } = expect
  return answered({ errorContains: typeof asked === 'string' && sentence.includes(asked) ? asked : sentence })
}

/** Cases keep host bits, and the order of addresses does not count: prefixes are compared by value. */
function spelled(prefixes: readonly Prefix.Prefix[], asked: unknown): unknown {
  const texts = prefixes.map((prefix) => Prefix.format(prefix))
  if (asked === null && texts.length === 0) return null
  if (!Array.isArray(asked) || asked.length !== texts.length) return texts
  const left = [...texts]
  const isSame = asked.every((text) => {
    const read = Prefix.safeParse(String(text))
    if (!read.ok) return false
    const index = left.findIndex((each) => {
      const mine = Prefix.parse(each)
      return Prefix.equals(mine, read.value) || Prefix.equals(mine, Prefix.masked(read.value))
    })
    if (index >= 0) left.splice(index, 1)
    return index >= 0
  })
  return isSame ? asked : texts
}
