import { Address, Prefix } from 'ipam-kit/cidr'
import { readWhereaboutsConfig, type WhereaboutsConfig } from 'ipam-kit/provider/whereabouts'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, refusedWith, unsupported } from '../answer.js'
import { readInput } from '../read-input.js'

const json = z.record(z.string(), z.unknown())

/**
 * A configuration in one of four forms, and the flat file. `ipam` is that of a plugin of which the
 * cases say no more.
 */
const inputSchema = z.strictObject({
  ipam: json.optional(),
  conf: json.optional(),
  conflist: json.optional(),
  raw: z.string().optional(),
  cniVersion: z.string().default('0.3.1'),
  args: z.record(z.string(), z.string()).optional(),
  flatFile: z.union([z.literal('absent'), json]).optional(),
})

/** What upstream makes of a configuration: under its rules and in its words. */
export function whereaboutsConfig({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { ipam = { type: 'whereabouts' }, conf, conflist, raw, cniVersion, args, flatFile } = known.data
  const given = raw ?? conflist ?? conf ?? { cniVersion, name: 'net', type: 'macvlan', ipam }
  const read = readWhereaboutsConfig(given, { rules: 'upstream', flatFile, args })
  if (!read.ok) return refusedWith(expect, read.failure.message)
  const config = read.value
  return answerKeys(expect, {
    ranges: (asked) => rangesOf(config, asked),
    gateway: () => (config.gateway === undefined ? null : Address.format(config.gateway)),
    kubeconfig: () => config.kubeconfig ?? null,
    logLevel: () => config.logLevel ?? null,
    logFile: () => config.logFile ?? null,
    leaderLeaseDuration: () => config.leader.leaseDurationMs,
    leaderRenewDeadline: () => config.leader.renewDeadlineMs,
    leaderRetryPeriod: () => config.leader.retryPeriodMs,
    overlappingRanges: () => config.overlappingRanges,
    reconcilerCronExpression: () => config.reconcilerCronExpression ?? null,
    networkName: () => config.networkName ?? null,
    nodeSliceSize: () => config.nodeSliceSize ?? null,
    staticAddresses: (asked) =>
      typeof asked === 'number' ? config.addresses.length : config.addresses.map(({ prefix }) => Prefix.format(prefix)),
    error: () => false,
  })
}

/**
 * The ranges, with the members that a case asks for. Upstream sets the start of a range without one
 * to the network address.
 */
function rangesOf({ ranges }: WhereaboutsConfig, asked: unknown): unknown {
  return ranges.map(({ prefix, start, end, exclude }, index) => {
    const one = Array.isArray(asked) ? (asked[index] as object | undefined) : undefined
    const has = (key: string) => one !== undefined && Object.hasOwn(one, key)
    return {
      range: Prefix.format(prefix),
      ...(has('rangeStart') && { rangeStart: Address.format(start ?? prefix.address) }),
      ...((end !== undefined || has('rangeEnd')) && { rangeEnd: end === undefined ? null : Address.format(end) }),
      ...((exclude.length > 0 || has('exclude')) && { exclude }),
    }
  })
}
