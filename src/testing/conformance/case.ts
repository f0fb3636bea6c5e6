import type { StoreCapabilities } from '../../store/store.js'
import type { Bench } from './harness.js'

/** The body of a rule: it rejects if the rule does not hold. */
export type Body = (bench: Bench) => Promise<void>

/**
 * Rules by name. A rule with the name of a capability does not apply to a store with that
 * capability.
 */
export type Rules = { readonly [name: string]: Body | { readonly unless: keyof StoreCapabilities; readonly run: Body } }
