import type { Rule } from '../differences.js'
import { cniRules } from './cni-rules.js'
import { controllerRules } from './controller-rules.js'
import { withEnd } from './ends.js'

/**
 * Where the plugin and the controllers differ from what was recorded, by the headings of
 * docs/reference/deviations.md. Each rule holds for what its text there says. Those of the plugin
 * hold only in cases that end here as `ends.json` says.
 */
export function rulesFor(name: string): readonly Rule[] {
  return name === 'whereabouts-cni' ? cniRules.map((rule) => withEnd(name, rule)) : controllerRules
}
