import { Prefix } from '../../cidr/index.js'
import { listed } from '../../errors/listed.js'
import type { Plan } from '../../plan/index.js'
import { KEYS, type NodeIPAMContext } from './context.js'
import type { ServiceOutcome } from './outcome.js'

/**
 * The plan for a ServiceCIDR: an Event about its unreadable ranges. No Node gets a subnet of the
 * other ranges. O(1).
 */
export function planService(name: string, context: NodeIPAMContext): Plan<ServiceOutcome> | undefined {
  const facts = context.cache.services?.get(name)
  if (facts === undefined) return undefined
  const { object, prefixes, problems } = facts
  const message = `ServiceCIDR ${name}: ${listed(problems, '; ')}`
  const causes = problems.slice(0, 1).map((cause) => ({ reason: 'InvalidServiceCIDR', message, cause }) as const)
  const effects = context.sent.newEvents(KEYS.format('ServiceCIDR', name), object, causes)
  if (causes.length > 0) return { outcome: { kind: 'invalid', message }, effects }
  const ranges = listed(prefixes, ', ', Prefix.format)
  return { outcome: { kind: 'excluded', message: `no Node gets a part of ${ranges} of ServiceCIDR ${name}` }, effects }
}
