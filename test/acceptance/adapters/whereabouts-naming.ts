import { Address } from 'ipam-kit/cidr'
import { type NameResult, poolName, readReservationName, reservationName } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, unsupported } from '../answer.js'
import { readInput } from '../read-input.js'

const networkName = z.string().default('')
const inputSchema = z.discriminatedUnion('fn', [
  z.strictObject({
    fn: z.literal('poolName'),
    range: z.string().default(''),
    networkName,
    nodeName: z.string().default(''),
  }),
  z.strictObject({ fn: z.literal('reservationName'), ip: z.string().default(''), networkName }),
  z.strictObject({
    fn: z.literal('ipFromReservationName'),
    name: z.string().default(''),
    networkName: z.string().optional(),
  }),
])

/** The names of the objects of whereabouts, and what the name of a reservation says. */
export function whereaboutsNaming({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { data } = known
  if (data.fn === 'ipFromReservationName') {
    const reading = readReservationName(data.name, data.networkName)
    return answerKeys(expect, {
      ip: (asked) => (reading === undefined ? null : spelled(reading.address, asked)),
      networkName: () => reading?.networkName ?? null,
      error: () => reading === undefined,
    })
  }
  const name =
    data.fn === 'poolName'
      ? poolName({ range: data.range, networkName: data.networkName, nodeName: data.nodeName })
      : reservationName({ address: unwrap(Address.safeParse(data.ip)), networkName: data.networkName })
  return answerKeys(expect, { name: () => textOf(name), validKubernetesName: () => name.ok, error: () => !name.ok })
}

/** Cases spell IPv6 as they like: an address is compared by value. */
function spelled(address: Address, asked: unknown): unknown {
  const expected = Address.safeParse(String(asked))
  return expected.ok && Address.equals(expected.value, address) ? asked : Address.format(address)
}

/** A name that an API server refuses is in the failure, as upstream makes it. */
function textOf(name: NameResult): string {
  return name.ok ? name.value : name.failure.context.name
}
