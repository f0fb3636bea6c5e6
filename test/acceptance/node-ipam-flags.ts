import { Prefix } from 'ipam-kit/cidr'
import { defaultClusterCIDR, type FlagResult, type NodeIPAMOptions } from 'ipam-kit/provider/node-ipam'
import * as z from 'zod'
import type { Answers } from './answer.js'
import { errorFor } from './node-ipam-answers.js'

const texts = z.array(z.string())

/** The ranges that flags name, and the lengths of the subnets of each. */
export const defaultSpecSchema = z.strictObject({ clusterCIDRs: texts, nodeMaskSizes: z.array(z.int()) })
export const flagsSchema = z.strictObject({
  ...defaultSpecSchema.shape,
  serviceCIDR: z.string().optional(),
  serviceCIDRs: texts.default([]),
  secondaryServiceCIDR: z.string().optional(),
})

/** The service ranges of an input, in whichever members it has them. */
export function servicesOf(input: {
  readonly serviceCIDR?: string | undefined
  readonly serviceCIDRs?: readonly string[] | undefined
  readonly secondaryServiceCIDR?: string | undefined
}): readonly Prefix[] {
  const { serviceCIDR, serviceCIDRs = [], secondaryServiceCIDR } = input
  const texts = [serviceCIDR, secondaryServiceCIDR, ...serviceCIDRs].filter((text) => text !== undefined && text !== '')
  return texts.map((text) => Prefix.parse(String(text)))
}

/** What a controller is started with under some flags. */
export function optionsOf(
  flags: z.output<typeof flagsSchema> | undefined,
): FlagResult<NodeIPAMOptions & { readonly serviceCIDRs: readonly Prefix[] }> {
  if (flags === undefined) return { ok: true, value: { serviceCIDRs: [] } }
  const spec = specOf(flags)
  return spec.ok ? { ok: true, value: { defaultClusterCIDR: spec.value, serviceCIDRs: servicesOf(flags) } } : spec
}

/** What can be asked of the ClusterCIDR that stands for flags. */
export function defaultSpecAnswers(input: z.output<typeof defaultSpecSchema>): Answers {
  const spec = specOf(input)
  return {
    perNodeHostBits: () => (spec.ok ? spec.value.perNodeHostBits : null),
    ipv4: () => (spec.ok ? (spec.value.ipv4 ?? null) : null),
    ipv6: () => (spec.ok ? (spec.value.ipv6 ?? null) : null),
    error: (asked) => errorFor(asked, spec.ok ? [] : spec.problems),
  }
}

function specOf({ clusterCIDRs, nodeMaskSizes }: z.output<typeof defaultSpecSchema>) {
  return defaultClusterCIDR({ clusterCIDRs: clusterCIDRs.map((text) => Prefix.parse(text)), nodeMaskSizes })
}
