import { Prefix } from '../../cidr/index.js'
import type { KubeObject } from '../../crd/meta/object.js'
import { ServiceCIDR } from '../../crd/networking/index.js'
import { quote } from '../../errors/quote.js'
import type { Watch } from '../../plan/index.js'

/** The fields of a ServiceCIDR that node IPAM reads. */
export interface ServiceFacts {
  readonly object: KubeObject
  /** The readable ranges, host bits cleared. */
  readonly prefixes: readonly Prefix[]
  /** One sentence for each range that cannot be read, without a final full stop. */
  readonly problems: readonly string[]
}

export const serviceWatch: Watch<ServiceFacts> = {
  ...ServiceCIDR.info,
  parse(object) {
    const { cidrs } = (object.spec ?? {}) as { readonly cidrs?: unknown }
    const prefixes: Prefix[] = []
    const problems: string[] = []
    for (const each of [cidrs ?? []].flat()) {
      const text = typeof each === 'string' ? each : String(JSON.stringify(each))
      const read = Prefix.safeParse(text, { profile: 'k8s-legacy-read' })
      if (read.ok) prefixes.push(Prefix.masked(read.value))
      else problems.push(`${quote(text)} in spec.cidrs is not a CIDR`)
    }
    if (prefixes.length + problems.length === 0) problems.push('spec.cidrs names no range')
    return { ok: true, value: { object, prefixes, problems } }
  },
}
